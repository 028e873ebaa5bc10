/* SPDX-License-Identifier: MIT
 * One wait site against latency, a point for each request of the sample. */

function scatterScale(kind, most, range) {
	return (kind === "root" ? d3.scaleSqrt() : d3.scaleLinear())
		.domain([0, most || 1])
		.nice()
		.range(range);
}

function drawScatter(view, box, width) {
	const S = D.sample,
		row = view.rows[view.row],
		xs = view.what === "waits" ? row.waits : row.ns;
	const height = Math.min(440, Math.max(300, width * 0.5)),
		m = { l: 62, r: 16, t: 20, b: 44 };
	const x = scatterScale(view.scale, d3.max(xs), [m.l, width - m.r]),
		y = scatterScale(view.scale, d3.max(S.latency_ns), [height - m.b, m.t]);
	const stack = el("div", { class: "stack" }),
		canvas = el("canvas", { "aria-hidden": "true" });
	box.append(stack);
	const g = svg(
		stack,
		width,
		height,
		`Latency against ${view.what === "waits" ? "the number of waits" : "time"} at ${row.name}`,
	);
	const few = n => (width < 560 ? Math.min(4, n) : n),
		xTick = view.what === "waits" ? count : tick;
	const xt = x.ticks(few(8)).filter(t => view.what !== "waits" || Number.isInteger(t)),
		yt = y.ticks(6);
	putGrid(g, yt, m.l, width - m.r, y);
	/* latency cannot be less than the time at one site */
	if (view.what === "ns") {
		const to = Math.min(x.domain()[1], y.domain()[1]);
		put(g, "path", {
			class: "diagonal",
			d: d3.line()(d3.range(0, 61).map(i => [x((to * i) / 60), y((to * i) / 60)])),
		});
	}
	putAxis(g, 0, height - m.b, d3.axisBottom(x).tickValues(xt).tickFormat(xTick));
	putAxis(g, m.l, 0, d3.axisLeft(y).tickValues(yt).tickFormat(tick));
	axisTitle(
		g,
		width - m.r,
		height - 6,
		view.what === "waits" ? "waits at this site in a request" : "time at this site in a request",
		"end",
	);
	axisTitle(g, 4, 12, "latency");
	canvas.width = width * 2;
	canvas.height = height * 2;
	canvas.style.left = canvas.style.top = "0";
	canvas.style.width = canvas.style.height = "100%";
	stack.append(canvas);
	const c = canvas.getContext("2d"),
		colours = [colour("point"), colour("slow")];
	c.scale(2, 2);
	c.globalAlpha = 0.55;
	xs.forEach((v, i) => {
		c.fillStyle = colours[i >= S.others && S.slowest < S.of ? 1 : 0];
		c.beginPath();
		c.arc(x(v), y(S.latency_ns[i]), 2.2, 0, 7);
		c.fill();
	});
	tipOn(stack, e => (e.clientX === undefined ? null : nearest(e, stack, width, xs, x, y, row)));
}

function nearest(e, stack, width, xs, x, y, row) {
	const S = D.sample,
		b = stack.getBoundingClientRect(),
		k = width / b.width;
	const px = (e.clientX - b.left) * k,
		py = (e.clientY - b.top) * k;
	let best = -1,
		least = 144;
	xs.forEach((v, i) => {
		const d = (x(v) - px) ** 2 + (y(S.latency_ns[i]) - py) ** 2;
		if (d < least) {
			least = d;
			best = i;
		}
	});
	return best < 0
		? null
		: [
				`latency ${ns(S.latency_ns[best])}`,
				`${ns(row.ns[best])} here` +
					(row.waits ? `, ${plural(row.waits[best], "wait")}` : ""),
				rankName(S.rank[best]),
			];
}

/* Over all requests, not the sample's. */
function correlation(row, what) {
	const t = D.tail && (row.name === "running" ? D.tail.running : D.tail.sites.find(s => s.site === row.id));
	const r2 =
		t && (row.id !== undefined) | (row.name === "running")
			? t[what === "waits" ? "r2_count" : "r2_time"]
			: null;
	return r2 === null || r2 === undefined
		? ""
		: `r\u00b2 = ${r2.toFixed(3)} over all ${count(Q.count)} requests. `;
}

function scatterTable(view) {
	const S = D.sample,
		row = view.rows[view.row],
		rows = S.rank.map((r, i) => i).reverse();
	return table(
		[
			numbers("place by latency", i => S.rank[i] + 1, count, { head: true }),
			numbers("latency", i => S.latency_ns[i], ns),
			numbers("time here", i => row.ns[i], ns),
			numbers("waits here", i => (row.waits ? row.waits[i] : null), count),
		],
		rows,
		{ caption: row.name, limit: 20 },
	);
}

function drawScatterPlot() {
	if (!D.sample) return;
	const s = section(
		"scatter",
		"Site and latency",
		"Does latency follow the time, or the number of waits, at one site? A point is a request.",
	);
	const view = { rows: sampleRows(), row: 0, what: "ns", scale: "linear" },
		note = el("p", { class: "hint", role: "status" });
	const holder = el("div", {}),
		list = el("div", {}),
		inside = more("As a table", list);
	const redo = () => {
		if (view.what === "waits" && !view.rows[view.row].waits) view.what = "ns";
		c.draw();
		note.textContent =
			correlation(view.rows[view.row], view.what) +
			samplingWords() +
			(D.sample.slowest < D.sample.of
				? ` The slowest ${count(D.sample.slowest)} have the other colour.`
				: "") +
			(view.what === "ns" ? " On the dashed line all of the latency is time here." : "");
		if (inside.open) list.replaceChildren(scatterTable(view));
	};
	s.append(
		el(
			"div",
			{ class: "controls" },
			choice(
				"Site",
				view.rows.map((r, i) => [String(i), shorten(r.name, 60)]),
				v => {
					view.row = Number(v);
					redo();
				},
			),
			choice(
				"Horizontal",
				[
					["ns", "time"],
					["waits", "number of waits"],
				],
				v => {
					view.what = v;
					redo();
				},
			),
			choice(
				"Scales",
				[
					["linear", "linear"],
					["root", "square root"],
				],
				v => {
					view.scale = v;
					redo();
				},
			),
		),
		holder,
		note,
	);
	const c = chart(holder, (box, width) => drawScatter(view, box, width));
	inside.addEventListener("toggle", () => inside.open && list.replaceChildren(scatterTable(view)));
	s.append(inside);
	view.start = redo;
	return redo;
}
