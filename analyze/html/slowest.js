/* SPDX-License-Identifier: MIT
 * What distinguishes the slowest requests, and each of them wait by wait. */

const CAUSE_WORDS = {
	other_site: "waits where others hardly do",
	more_waits: "more waits",
	longer_waits: "longer waits",
};

/* The sites with the most time in these requests have colours of their own. */
function slowColours() {
	const sum = new Map();
	for (const q of D.tail.slowest)
		for (const w of q.waits) sum.set(w.site, (sum.get(w.site) || 0) + w.duration_ns);
	const best = [...sum.entries()]
		.sort((a, b) => b[1] - a[1])
		.slice(0, 7)
		.map(e => e[0]);
	return {
		best,
		rest: sum.size > best.length,
		of: site => colour(best.includes(site) ? "site" + best.indexOf(site) : "site-rest"),
	};
}

function wakerWords(w) {
	if (w.waker_thread === null) return null;
	return (
		(w.waker_function ? clean(w.waker_function) + " " : "") +
		`(thread ${w.waker_thread}) at ${ns(w.waker_offset_ns)}`
	);
}

function drawTimeline(q, colours, box, width, most) {
	const height = 26,
		x = d3
			.scaleLinear()
			.domain([0, most])
			.range([0, width - 2]);
	const g = svg(box, width, height, `${ns(q.latency_ns)} in ${plural(q.waits.length, "wait")}`);
	put(g, "rect", { class: "whole", x: 0, y: 6, width: Math.max(1, x(q.latency_ns)), height: 14 });
	for (const w of q.waits) {
		const r = put(g, "rect", {
			x: x(w.offset_ns),
			y: 6,
			width: Math.max(0.7, x(w.duration_ns)),
			height: 14,
			fill: colours.of(w.site),
		});
		tipOn(r.node(), () =>
			[
				siteName(w.site),
				`${ns(w.duration_ns)}, from ${ns(w.offset_ns)} on`,
				"thread " + w.thread,
				wakerWords(w) ? "woken by " + wakerWords(w) : null,
			].filter(l => l),
		);
		if (w.waker_offset_ns !== null && x(w.duration_ns) > 8)
			put(g, "path", { class: "waker", d: `M${x(Math.max(0, w.waker_offset_ns))},6l-3,-5h6z` });
	}
}

function timelineAxis(box, width, most) {
	const g = svg(box, width, 24, "time since the request began"),
		x = d3
			.scaleLinear()
			.domain([0, most])
			.range([0, width - 2]);
	const ticks = x.ticks(Math.max(2, Math.min(8, width / 90)));
	putAxis(g, 0, 18, d3.axisTop(x).tickValues(ticks).tickFormat(tick))
		.select(".tick text")
		.attr("text-anchor", "start");
	g.selectAll(".tick text")
		.filter(t => x(t) > width - 24)
		.attr("text-anchor", "end");
}

function waitTable(q) {
	return table(
		[
			numbers("begins", w => w.offset_ns, ns, { head: true }),
			numbers("lasts", w => w.duration_ns, ns),
			words("site", w => siteName(w.site)),
			numbers("thread", w => w.thread, identity, { opt: true }),
			words("object", w => w.object || "\u2013", { opt: true }),
			words("woken by", w => wakerWords(w) || "\u2013"),
		],
		q.waits,
		{ name: "Waits of this request", limit: 60, class: "breaks" },
	);
}

function request(q, i, colours, most) {
	const bar = el("div", { class: "bar-holder" }),
		inside = el("div", {});
	const d = el(
		"details",
		{ class: "request" },
		el(
			"summary",
			{},
			el(
				"span",
				{ class: "request-name" },
				el("b", {}, ns(q.latency_ns)),
				` #${i + 1}, ${plural(q.waits.length + q.summed_waits, "wait")}, ` +
					`began at ${ns(q.begin_ns - R.tarry.start_ns)}, thread ${q.thread}` +
					(q.thread_name ? " " + clean(q.thread_name) : "") +
					(q.class ? ", " + clean(q.class) : ""),
			),
			bar,
		),
		inside,
	);
	d.addEventListener("toggle", () => {
		if (!d.open || inside.firstChild) return;
		const big = el("div", {});
		inside.append(
			big,
			q.summed_waits
				? el(
						"p",
						{ class: "hint" },
						plural(q.summed_waits, "earlier wait") +
							`, ${ns(q.summed_ns)}, not kept one by one.`,
					)
				: "",
			waitTable(q),
		);
		chart(big, (box, width) => {
			drawTimeline(q, colours, box, width, q.latency_ns || 1);
			timelineAxis(box, width, q.latency_ns || 1);
		}).draw();
	});
	chart(bar, (box, width) => drawTimeline(q, colours, box, width, most));
	return d;
}

function causes() {
	const t = D.tail,
		most = mostShare(t.causes);
	return table(
		[
			words(
				"cause",
				c =>
					(c.site === null ? "" : siteName(c.site) + ": ") +
					(c.site === null ? "held up" : CAUSE_WORDS[c.cause]),
				{ head: true },
			),
			shareColumn(most),
			numbers("\u00b1", c => c.share_se, percent, { opt: true }),
		],
		t.causes,
		{
			caption: "What makes them slow: parts of that excess",
			limit: 8,
			foot:
				t.running.share === null
					? null
					: [
							[
								"running",
								shareBar(t.running.share, t.running.share_se, most),
								percent(t.running.share_se),
							],
						],
		},
	);
}

function drawSlowest() {
	if (!D.tail || !D.tail.slowest.length) return;
	const t = D.tail,
		s = section("slowest", "The slowest", "What distinguishes them, and each of them wait by wait.");
	if (t.share_sum !== null)
		s.append(
			el(
				"p",
				{},
				`The slowest ${percent(1 - t.quantile)} are ${plural(t.count, "request")} ` +
					`from ${ns(t.from_ns)} on. They take ${ns(t.mean_tail_ns)} on average, ` +
					`${ns(t.excess_ns)} more than all (${ns(t.mean_ns)}).`,
			),
			causes(),
		);
	const colours = slowColours(),
		most = t.slowest[0].latency_ns || 1,
		legend = el("p", { class: "legend" }),
		axis = el("div", { class: "bar-holder" });
	s.append(el("h3", {}, `The ${t.slowest.length} slowest, on one scale`), legend, axis);
	chart(axis, (box, width) => {
		timelineAxis(box, width, most);
		legend.replaceChildren(
			...colours.best.concat(colours.rest ? [undefined] : []).map(site => {
				const swatch = el("i", { class: "swatch" });
				swatch.style.background = colours.of(site);
				return el("span", {}, swatch, site === undefined ? "other sites" : siteName(site));
			}),
			el("span", {}, el("i", { class: "swatch whole" }), "running"),
			el("span", {}, "\u25bc woken"),
		);
	});
	s.append(...t.slowest.map((q, i) => request(q, i, colours, most)));
}
