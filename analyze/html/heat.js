/* SPDX-License-Identifier: MIT
 * Requests by latency: a column is a request (or the mean of neighbours), a row is a wait site. */

/* Rows of the sample in the order of the report, then what is no site. */
function sampleRows() {
	const S = D.sample,
		rows = S.sites
			.map(l => ({
				id: l.site,
				name: siteName(l.site),
				ns: l.ns,
				waits: l.waits,
				rank: l.site === null ? 1e9 : SITE.has(l.site) ? SITE.get(l.site).rank : 1e8,
			}))
			.sort((a, b) => a.rank - b.rank);
	if (S.other_sites.ns.some(x => x > 0))
		rows.push({ id: undefined, name: "other sites", ns: S.other_sites.ns, waits: S.other_sites.waits });
	const running = S.latency_ns.map((l, i) => l - d3.sum(rows, r => r.ns[i]));
	rows.push({ id: undefined, name: "running", ns: running, waits: null });
	return rows;
}

const HEAT_ROW = 19,
	HEAT_TOP = 66,
	HEAT_BOTTOM = 40;

function heatView() {
	const S = D.sample,
		v = { lo: 0, hi: S.of, at: null, rows: sampleRows() };
	v.limit = (lo, hi) => {
		const least = Math.min(10, S.of),
			span = Math.max(least, Math.min(S.of, hi - lo));
		v.lo = Math.max(0, Math.min(S.of - span, Math.round(lo)));
		v.hi = v.lo + Math.round(span);
	};
	/* columns of ranks [from, to), at least the one nearest to the middle */
	v.columns = (from, to) => {
		const i = d3.bisectLeft(S.rank, from),
			j = d3.bisectLeft(S.rank, to);
		if (i < j) return [i, j];
		const k = Math.min(S.n - 1, i);
		return k > 0 && Math.abs(S.rank[k - 1] - from) < Math.abs(S.rank[k] - from)
			? [k - 1, k]
			: [k, k + 1];
	};
	v.most = d3.max(v.rows, r => d3.max(r.ns)) || 1;
	return v;
}

/* Logarithmic above a thousandth of the longest; 0: no time. */
function heatScale(most) {
	const c = heatColours(),
		floor = most / 1000;
	return x => (x <= 0 ? c(0) : c(0.08 + (0.92 * Math.log1p(x / floor)) / Math.log1p(most / floor)));
}

function mean(values, i, j) {
	let sum = 0;
	for (let k = i; k < j; k++) sum += values[k];
	return sum / (j - i);
}

function paintHeat(view, canvas, width) {
	const S = D.sample,
		cells = Math.min(width, view.hi - view.lo),
		c = canvas.getContext("2d"),
		scale = heatScale(view.most);
	canvas.width = width * 2;
	canvas.height = view.rows.length * HEAT_ROW * 2;
	c.scale(2, 2);
	for (let p = 0; p < cells; p++) {
		const from = view.lo + (p * (view.hi - view.lo)) / cells,
			[i, j] = view.columns(from, view.lo + ((p + 1) * (view.hi - view.lo)) / cells);
		const x0 = Math.floor(((p * width) / cells) * 2) / 2,
			x1 = Math.floor((((p + 1) * width) / cells) * 2) / 2;
		view.rows.forEach((r, k) => {
			c.fillStyle = scale(mean(r.ns, i, j));
			c.fillRect(x0, k * HEAT_ROW, x1 - x0, HEAT_ROW - 1);
		});
	}
}

function rankName(rank) {
	const p = (rank + 1) / D.sample.of,
		digits = Math.max(1, Math.ceil(Math.log10(D.sample.of)) - 1);
	return rank === D.sample.of - 1 ? "the slowest" : "p" + (100 * p).toFixed(Math.min(5, digits));
}

/* One request, or those of one cell, in words. */
function heatWords(view, rank) {
	const S = D.sample,
		[i, j] = view.columns(rank, rank + 1);
	const parts = view.rows
		.map(r => ({ r, x: mean(r.ns, i, j) }))
		.filter(p => p.x > 0)
		.sort((a, b) => b.x - a.x)
		.slice(0, 5);
	return [
		`${ns(mean(S.latency_ns, i, j))}: ${rankName(S.rank[i])}, ` +
			`request ${count(S.rank[i] + 1)} of ${count(S.of)} by latency`,
		...parts.map(
			p =>
				`${ns(p.x)}  ${p.r.name}` +
				(p.r.waits ? `, ${plural(Math.round(mean(p.r.waits, i, j)), "wait")}` : ""),
		),
	];
}

function drawHeatAxes(view, g, left, width, height) {
	const S = D.sample,
		x = d3.scaleLinear().domain([view.lo, view.hi]).range([left, width]);
	const y = d3
		.scaleLog()
		.domain([Math.max(1, d3.min(S.latency_ns)), Math.max(2, d3.max(S.latency_ns))])
		.range([HEAT_TOP - 8, 16]);
	const points = d3.range(0, width - left + 1).map(p => {
		const from = view.lo + (p * (view.hi - view.lo)) / (width - left),
			[i, j] = view.columns(from, from + (view.hi - view.lo) / (width - left));
		return [left + p, y(Math.max(1, mean(S.latency_ns, i, j)))];
	});
	put(g, "path", { class: "area", d: d3.area().y0(HEAT_TOP - 6)(points) });
	putAxis(
		g,
		left,
		0,
		d3
			.axisLeft(y)
			.tickValues(logTicks(y.domain()[0], y.domain()[1], 3))
			.tickFormat(tick),
	);
	axisTitle(g, left, 10, "latency");
	puts(g, "text", view.rows, {
		class: "row",
		x: left - 8,
		"text-anchor": "end",
		y: (r, k) => HEAT_TOP + k * HEAT_ROW + HEAT_ROW / 2 + 3,
	})
		.text(r => shorten(r.name, Math.floor((left - 12) / 7.1)))
		.append("title")
		.text(r => r.name);
	const unit = S.of <= 200 ? 1 : S.of / 100; /* few requests: their numbers; else percent */
	const at = d3
		.scaleLinear()
		.domain([view.lo / unit, view.hi / unit])
		.ticks(Math.max(2, Math.min(8, (width - left) / 80)))
		.filter(t => unit > 1 || Number.isInteger(t))
		.map(t => t * unit);
	putAxis(
		g,
		0,
		height - HEAT_BOTTOM,
		d3
			.axisBottom(x)
			.tickValues(at)
			.tickFormat(r => (S.of <= 200 ? count(r) : "p" + Number(((100 * r) / S.of).toFixed(6)))),
	);
	axisTitle(
		g,
		width,
		height - 4,
		S.of <= 200 ? "requests, fastest first" : "percentile of latency; fastest requests on the left",
		"end",
	);
}

function drawHeatLegend(view, parent) {
	const width = 220,
		box = el("div", { class: "legend" }, "Time there "),
		scale = heatScale(view.most);
	const g = svg(box, width, 30, "Colours: time at a site"),
		lo = view.most / 1000;
	const at = d3
		.scaleLog()
		.domain([lo, view.most])
		.range([18, width - 24]);
	const label = (x, text) =>
		put(g, "text", { class: "mark-label", x, y: 25, "text-anchor": "middle" }).text(text);
	puts(g, "rect", d3.range(18, width - 24), {
		x: px => px,
		y: 2,
		width: 1.5,
		height: 10,
		fill: px => scale(at.invert(px)),
	});
	put(g, "rect", { class: "outline", x: 2, y: 2, width: 10, height: 10, fill: scale(0) });
	label(7, "0");
	[lo * 3, Math.sqrt(lo * view.most) * 1.5, view.most].forEach(t =>
		label(at(t), tick(Number(t.toPrecision(1)))),
	);
	parent.append(box);
}

/* Mouse: drag a range. Keyboard: arrows move a cursor. */
function heatHands(view, canvas, cursor, redo) {
	const rankAt = e => {
		const b = canvas.getBoundingClientRect();
		return (
			view.lo +
			Math.max(0, Math.min(0.999999, (e.clientX - b.left) / b.width)) * (view.hi - view.lo)
		);
	};
	let from = null;
	const mark = (a, b) => {
		cursor.hidden = false;
		cursor.style.left =
			canvas.offsetLeft +
			((Math.min(a, b) - view.lo) / (view.hi - view.lo)) * canvas.offsetWidth +
			"px";
		cursor.style.width =
			Math.max(1, (Math.abs(b - a) / (view.hi - view.lo)) * canvas.offsetWidth) + "px";
	};
	tipOn(canvas, e => (e.clientX === undefined ? null : heatWords(view, rankAt(e))));
	canvas.addEventListener("pointerdown", e => {
		if (e.pointerType === "mouse") {
			from = rankAt(e);
			canvas.setPointerCapture(e.pointerId);
		}
	});
	canvas.addEventListener("pointermove", e => {
		if (from !== null) mark(from, rankAt(e));
	});
	canvas.addEventListener("pointerup", e => {
		const a = from,
			b = from === null ? null : rankAt(e);
		from = null;
		cursor.hidden = true;
		if (a !== null && Math.abs(b - a) / (view.hi - view.lo) > 0.01)
			redo(Math.min(a, b), Math.max(a, b));
	});
	canvas.addEventListener("keydown", e => {
		const step =
			Math.max(1, (view.hi - view.lo) / 100) *
			({ ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[e.key] || 0);
		if (!step && e.key !== "End" && e.key !== "Home") return;
		e.preventDefault();
		const to =
			e.key === "End"
				? view.hi - 1
				: e.key === "Home"
					? view.lo
					: (view.at === null ? (view.lo + view.hi) / 2 : view.at) + step;
		view.at = Math.max(view.lo, Math.min(view.hi - 1, to));
		const b = canvas.getBoundingClientRect();
		mark(view.at, view.at);
		showTip(
			heatWords(view, view.at),
			b.left + ((view.at - view.lo) / (view.hi - view.lo)) * b.width,
			b.top + 20,
		);
	});
	canvas.addEventListener("blur", () => {
		cursor.hidden = true;
		hideTip();
	});
}

function drawHeat(view, box, width, redo) {
	const left = width < 560 ? 132 : 250,
		height = HEAT_TOP + view.rows.length * HEAT_ROW + HEAT_BOTTOM;
	const stack = el("div", { class: "stack" });
	box.append(stack);
	const g = svg(stack, width, height, "Requests by latency and their time at each wait site");
	drawHeatAxes(view, g, left, width - 6, height);
	const canvas = el("canvas", {
		tabindex: "0",
		role: "img",
		"aria-label": "Heat map: arrow keys move through the requests",
	});
	const cursor = el("div", { class: "cursor", hidden: true });
	for (const [k, x] of [
		["left", left / width],
		["width", (width - 6 - left) / width],
		["top", HEAT_TOP / height],
		["height", (view.rows.length * HEAT_ROW) / height],
	])
		canvas.style[k] = x * 100 + "%";
	cursor.style.top = (HEAT_TOP / height) * 100 + "%";
	cursor.style.height = ((view.rows.length * HEAT_ROW) / height) * 100 + "%";
	stack.append(canvas, cursor);
	paintHeat(view, canvas, width - 6 - left);
	heatHands(view, canvas, cursor, redo);
	drawHeatLegend(view, box);
}

function samplingWords() {
	const S = D.sample;
	return S.others + S.slowest === S.of
		? `All ${plural(S.of, "request")}.`
		: `A sample: the slowest ${count(S.slowest)} of ${count(S.of)} requests are all here, ` +
				`of the others ${count(S.others)}, ` +
				`one from the middle of every ${decimal((S.of - S.slowest) / S.others)} by latency.`;
}

/* Times at a few latencies, as numbers. */
function heatTable(view) {
	const S = D.sample,
		last = S.n - 1,
		columns = [
			...new Set([
				...[0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999].map(q =>
					Math.min(last, d3.bisectLeft(S.rank, q * S.of)),
				),
				last,
			]),
		];
	return el(
		"div",
		{},
		table(
			[
				words("site", r => r.name, { head: true }),
				...columns.map(i => numbers(rankName(S.rank[i]), r => r.ns[i], ns)),
			],
			[{ name: "latency", ns: S.latency_ns }, ...view.rows],
			{ name: "Time by site of single requests", limit: 40 },
		),
		el("p", { class: "hint" }, "Each column is one request, the one at that place by latency."),
	);
}

function drawHeatMap() {
	if (!D.sample) return;
	const S = D.sample;
	S.n = S.rank.length;
	const s = section(
		"heat",
		"Requests",
		"Every column is a request, the fastest on the left, every row a wait site, the colour the time there.",
	);
	const view = heatView(),
		holder = el("div", { class: "heat" });
	const redo = (lo, hi) => {
		view.limit(lo, hi);
		view.at = null;
		hideTip();
		c.draw();
	};
	const span = () => view.hi - view.lo;
	const views = [
		["all", "all"],
		...[0.1, 0.01].filter(q => S.of * q >= 20).map(q => [String(q), `slowest ${q * 100}\u00a0%`]),
	];
	if (S.slowest < S.of) views.push(["whole", `slowest ${count(S.slowest)}`]);
	if (S.of > 60) views.push(["50", "slowest 50"]);
	const button = (text, label, act) =>
		el("button", { type: "button", "aria-label": label, onclick: act }, text);
	s.append(
		el(
			"div",
			{ class: "controls" },
			switches("Requests shown", views, v =>
				redo(
					v === "all"
						? 0
						: v === "whole"
							? S.of - S.slowest
							: v === "50"
								? S.of - 50
								: S.of * (1 - Number(v)),
					S.of,
				),
			),
			button("\u2212", "zoom out", () => redo(view.lo - span() / 2, view.hi + span() / 2)),
			button("+", "zoom in", () => redo(view.lo + span() / 4, view.hi - span() / 4)),
			button("\u2190", "faster requests", () => redo(view.lo - span() / 3, view.hi - span() / 3)),
			button("\u2192", "slower requests", () => redo(view.lo + span() / 3, view.hi + span() / 3)),
		),
		holder,
	);
	const c = chart(holder, (box, width) => drawHeat(view, box, width, redo));
	s.append(
		el(
			"p",
			{ class: "hint" },
			samplingWords() +
				" Where a column has less than a dot of the screen it is the mean of its neighbours. " +
				"Drag over a range to zoom; with the keyboard, arrow keys go through the requests.",
		),
	);
	s.append(more("As a table", heatTable(view)));
}
