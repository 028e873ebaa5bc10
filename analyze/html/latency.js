/* SPDX-License-Identifier: MIT
 * How long requests took: histogram and percentile curve, over all of them. */

const MARKS = [
	["p50", "p50_ns"],
	["p95", "p95_ns"],
	["p99", "p99_ns"],
	["p99.9", "p999_ns"],
];

/* Labels of marks that would touch the one before are left out. */
function drawMarks(g, x, top, bottom) {
	let last = -100;
	for (const [name, key] of MARKS) {
		const at = x(Math.max(1, Q[key]));
		put(g, "line", { class: "mark", x1: at, x2: at, y1: top, y2: bottom });
		if (at - last < 34) continue;
		put(g, "text", { class: "mark-label", x: at, y: top - 4, "text-anchor": "middle" }).text(name);
		last = at;
	}
}

function drawHistogram(box, width) {
	const h = D.latency.histogram,
		height = 230,
		m = { l: 46, r: 14, t: 22, b: 42 };
	const lo = h.edges_ns[0],
		hi = Math.max(h.edges_ns[h.edges_ns.length - 1], lo * 1.01);
	const x = d3
		.scaleLog()
		.domain([lo, hi])
		.range([m.l, width - m.r]);
	const y = d3
		.scaleLinear()
		.domain([0, d3.max(h.counts)])
		.nice(4)
		.range([height - m.b, m.t]);
	const g = svg(box, width, height, `Histogram of the latency of ${count(Q.count)} requests`);
	const ticks = y.ticks(4).filter(Number.isInteger),
		one = h.counts.length === 1;
	putGrid(g, ticks, m.l, width - m.r, y);
	puts(put(g, "g", { class: "bars" }), "rect", h.counts, {
		x: (c, i) => x(h.edges_ns[i]) + (one ? 0 : 0.5),
		width: (c, i) => (one ? 20 : Math.max(1, x(h.edges_ns[i + 1]) - x(h.edges_ns[i]) - 1)),
		y: c => (c ? Math.min(y(c), height - m.b - 1) : height - m.b),
		height: c => (c ? Math.max(1, height - m.b - y(c)) : 0),
	}).each(function (c, i) {
		tipOn(this, () => [
			plural(c, "request"),
			`${ns(h.edges_ns[i])} to ${ns(h.edges_ns[i + 1] || hi)}`,
			percent(c / Q.count) + " of all",
		]);
	});
	drawMarks(g, x, m.t, height - m.b);
	putAxis(
		g,
		0,
		height - m.b,
		d3
			.axisBottom(x)
			.tickValues(logTicks(lo, hi, width / 62))
			.tickFormat(tick),
	);
	putAxis(g, m.l, 0, d3.axisLeft(y).tickValues(ticks).tickFormat(count));
	axisTitle(g, width - m.r, height - 6, "latency (logarithmic)", "end");
	axisTitle(g, 4, 12, "requests");
}

function quantileName(q) {
	const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(1 - q + 1e-12)) - 1));
	return "p" + Number((q * 100).toFixed(digits));
}

/* The axis gives as much room to 90..99 % as to 99..99.9 %. */
function drawQuantiles(box, width) {
	const v = D.latency.quantiles,
		height = 230,
		m = { l: 58, r: 20, t: 22, b: 42 };
	const beyond = q => 1 / Math.max(1 - q, 0.5 / Q.count);
	const x = d3
		.scaleLog()
		.domain([1, beyond(1)])
		.range([m.l, width - m.r]);
	const lo = Math.max(1, v[0][1]),
		hi = Math.max(v[v.length - 1][1], lo * 1.01);
	const y = d3
		.scaleLog()
		.domain([lo, hi])
		.range([height - m.b, m.t]);
	const g = svg(box, width, height, `Latency by percentile of ${count(Q.count)} requests`);
	const ticks = logTicks(lo, hi, 7);
	putGrid(g, ticks, m.l, width - m.r, y);
	const line = d3
		.line()
		.curve(d3.curveStepBefore)
		.x(p => x(beyond(p[0])))
		.y(p => y(Math.max(1, p[1])));
	put(g, "path", { class: "curve", d: line(v) });
	const qs = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999].filter(
		q => q === 0 || (1 - q) * Q.count >= 1,
	);
	putAxis(
		g,
		0,
		height - m.b,
		d3
			.axisBottom(x)
			.tickValues(qs.map(beyond))
			.tickFormat((t, i) => quantileName(qs[i])),
	);
	putAxis(g, m.l, 0, d3.axisLeft(y).tickValues(ticks).tickFormat(tick));
	axisTitle(g, width - m.r, height - 6, "part of the requests that were at least as fast", "end");
	axisTitle(g, 4, 12, "latency (logarithmic)");
	const dot = put(g, "circle", { class: "dot", r: 4, visibility: "hidden" }),
		node = g.node();
	tipOn(node, e => {
		if (e.clientX === undefined) return null;
		const b = node.getBoundingClientRect(),
			at = ((e.clientX - b.left) * width) / b.width;
		const p = v.reduce((a, c) =>
			Math.abs(x(beyond(c[0])) - at) < Math.abs(x(beyond(a[0])) - at) ? c : a,
		);
		attrs(dot, { visibility: "visible", cx: x(beyond(p[0])), cy: y(Math.max(1, p[1])) });
		return [
			ns(p[1]),
			p[0] === 1
				? "the slowest request"
				: p[0] === 0
					? "the fastest request"
					: quantileName(p[0]),
		];
	});
}

function drawLatency() {
	if (!WITH_REQUESTS) return;
	const s = section("latency", "Latency", `All ${count(Q.count)} requests.`),
		two = el("div", { class: "two" });
	const left = el("div", {}),
		right = el("div", {}),
		h = D.latency.histogram;
	s.append(two);
	two.append(left, right);
	chart(left, drawHistogram);
	chart(right, drawQuantiles);
	const bins = h.counts
		.map((n, i) => ({
			n,
			from: h.edges_ns[i],
			to: h.edges_ns[i + 1] === undefined ? h.edges_ns[i] : h.edges_ns[i + 1],
		}))
		.filter(b => b.n);
	s.append(
		more(
			"As tables",
			el(
				"div",
				{ class: "two" },
				table(
					[
						numbers("from", b => b.from, ns, { head: true }),
						numbers("to", b => b.to, ns),
						numbers("requests", b => b.n, count),
					],
					bins,
					{ caption: "Histogram", limit: 100 },
				),
				table(
					[
						numbers(
							"percentile",
							p => p[0],
							q => (q === 1 ? "slowest" : quantileName(q)),
							{ head: true },
						),
						numbers("latency", p => p[1], ns),
					],
					D.latency.quantiles,
					{ caption: "Percentiles", limit: 200 },
				),
			),
		),
	);
}
