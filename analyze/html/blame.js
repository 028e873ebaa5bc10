/* SPDX-License-Identifier: MIT
 * Who made whom wait: a matrix of waiters and holders, root causes, chains. */

/* Where a chain ends, besides the kinds. */
const END_WORDS = { cycle: "a cycle, cut", deep: "cut: too deep", history: "what it did then is too long ago" };

function kindWords(kind) {
	return END_WORDS[kind] || D.kind_words[kind] || kind;
}

/* Shares where there are requests, else time. */
function blameValue(x) {
	return x.share === null ? x.total_ns : x.share;
}

function blameShow(v) {
	return WITH_REQUESTS ? percent(v) : ns(v);
}

/* Sums of pairs with the same waiter and holder, or kind where there is no holder. */
function matrix(most) {
	const cells = new Map(),
		rows = new Map(),
		columns = new Map();
	for (const p of D.blame.pairs) {
		const v = blameValue(p),
			w = p.waiter.id,
			h = p.holder ? p.holder.id : p.kind,
			key = w + " " + h;
		const c = cells.get(key) || { v: 0, pairs: [], w, h };
		c.v += v;
		c.pairs.push(p);
		cells.set(key, c);
		rows.set(w, {
			key: w,
			name: linkName(p.waiter),
			v: (rows.get(w) ? rows.get(w).v : 0) + Math.abs(v),
		});
		columns.set(h, {
			key: h,
			name: p.holder ? linkName(p.holder) : kindWords(p.kind),
			none: !p.holder,
			v: (columns.get(h) ? columns.get(h).v : 0) + Math.abs(v),
		});
	}
	const best = m => [...m.values()].sort((a, b) => b.v - a.v).slice(0, most);
	return {
		cells,
		rows: best(rows),
		columns: best(columns).sort((a, b) => a.none - b.none || b.v - a.v),
		allRows: rows.size,
		allColumns: columns.size,
	};
}

function cellLines(c) {
	return [
		linkName(c.pairs[0].waiter),
		"ended by " + (c.pairs[0].holder ? linkName(c.pairs[0].holder) : kindWords(c.pairs[0].kind)),
		...c.pairs
			.slice(0, 4)
			.map(
				p =>
					`${kindWords(p.kind)}: ` +
					(p.share === null ? "" : percentWithError(p.share, p.share_se) + ", ") +
					`${ns(p.total_ns)} in ${plural(p.segments, "part")}` +
					(p.object ? ", " + shorten(clean(p.object), 40) : ""),
			),
	];
}

function drawMatrix(box, width) {
	const m = matrix(width < 560 ? 8 : 14);
	const left = Math.min(270, Math.max(118, width * 0.3)),
		letters = width < 560 ? 18 : 40;
	const slant = m.columns.map(c => 12 + 6.6 * 0.72 * Math.min(letters, c.name.length)),
		top = Math.max(...slant) + 6;
	/* the labels of the last columns lean over the edge */
	let side = 58;
	while (side > 12 && left + Math.max(...slant.map((w, i) => (i + 0.5) * side + w)) > width) side--;
	const tall = Math.min(30, Math.max(20, side)),
		height = top + m.rows.length * tall + 8;
	box.dataset.shown =
		`The largest ${m.rows.length} of ${m.allRows} rows ` +
		`and ${m.columns.length} of ${m.allColumns} columns. `;
	const most = d3.max([...m.cells.values()], c => Math.abs(c.v)) || 1,
		scale = heatColours();
	const g = svg(box, width, height, "Waiters in rows, who ended their waits in columns").attr(
		"role",
		"group",
	);
	const label = Math.floor((left - 12) / 7.1);
	puts(g, "text", m.rows, {
		class: "row",
		x: left - 8,
		y: (r, i) => top + i * tall + tall / 2 + 4,
		"text-anchor": "end",
	})
		.text(r => shorten(r.name, label))
		.append("title")
		.text(r => r.name);
	puts(g, "text", m.columns, {
		class: c => "row" + (c.none ? " none" : ""),
		transform: (c, i) => `translate(${left + i * side + side / 2 + 3},${top - 6}) rotate(-45)`,
	})
		.text(c => shorten(c.name, letters))
		.append("title")
		.text(c => c.name);
	m.rows.forEach((r, i) =>
		m.columns.forEach((c, k) => {
			const cell = m.cells.get(r.key + " " + c.key),
				x = left + k * side,
				y = top + i * tall;
			const part = cell && cell.v > 0 ? Math.sqrt(cell.v / most) : 0;
			const rect = put(g, "rect", {
				class: "cell",
				x,
				y,
				width: side - 1,
				height: tall - 1,
				fill: scale(part ? 0.08 + 0.92 * part : 0),
			});
			if (!cell) return;
			attrs(rect, {
				tabindex: 0,
				role: "img",
				"aria-label": `${r.name}, ${c.name}: ${blameShow(cell.v)}`,
			});
			tipOn(rect.node(), () => cellLines(cell));
			if (side >= 46 && cell.v / most > 0.002)
				put(g, "text", {
					class: "in-cell" + (part > 0.5 ? " strong" : ""),
					x: x + side / 2 - 0.5,
					y: y + tall / 2 + 4,
					"text-anchor": "middle",
				}).text(blameShow(cell.v).replace("\u00a0%", "").replace("\u00a0", ""));
		}),
	);
}

function blameColumns(first) {
	const b = D.blame,
		most = WITH_REQUESTS ? mostShare(b.pairs.concat(b.roots)) : 1;
	return [
		...first,
		...(WITH_REQUESTS
			? [
					shareColumn(most),
					numbers("\u00b1", p => p.share_se, percent, { opt: true }),
					numbers("tail", p => p.tail_share, percent, { opt: true }),
					numbers("time/req", p => p.per_request_ns, ns, { opt: true }),
				]
			: []),
		numbers("time", p => p.total_ns, ns),
		numbers("parts", p => p.segments, count, { opt: true }),
	];
}

function pairTable() {
	const ended = p =>
		[kindWords(p.kind), linkName(p.holder) || (p.object ? clean(p.object) : null)]
			.filter(t => t)
			.join(": ");
	return table(
		blameColumns([
			words("waiter, and who ended it", p => linkName(p.waiter), {
				head: true,
				cell: p =>
					el(
						"span",
						{},
						el("b", {}, linkName(p.waiter)),
						el("span", { class: "object" }, ended(p)),
					),
			}),
			words("mostly thread", p => identity(p.thread) + " " + clean(p.thread_name || ""), {
				opt: true,
			}),
		]),
		D.blame.pairs,
		{ caption: "Who waited, and who made it wait", limit: 12, class: "breaks" },
	);
}

function rootTable() {
	return table(
		blameColumns([
			words("root cause", r => kindWords(r.kind) + (r.site ? ": " + linkName(r.site) : ""), {
				head: true,
			}),
		]),
		D.blame.roots,
		{ caption: "Root causes, at the end of the chains", limit: 8, class: "breaks" },
	);
}

function chainTable() {
	const steps = c =>
		el(
			"ol",
			{ class: "steps" },
			c.steps.map(s =>
				el(
					"li",
					{},
					el("b", {}, linkName(s.waiter)),
					" " + kindWords(s.kind),
					s.holder ? ": " + linkName(s.holder) : "",
				),
			),
			c.end === c.steps[c.steps.length - 1].kind
				? null
				: el("li", { class: "hint" }, "then: " + kindWords(c.end)),
		);
	return table(
		blameColumns([
			{
				label: "chain: each one\u2019s holder was in the next one\u2019s wait",
				head: true,
				cell: steps,
			},
		]),
		D.blame.chains,
		{ caption: "Chains of two steps and more", limit: 6, class: "breaks" },
	);
}

/* What is left out of a list, if anything is. */
function someOf(what) {
	const all = D.blame.counts[what],
		n = D.blame[what].length;
	return all > n ? `Of ${count(all)} ${what} the first ${count(n)} are here. ` : "";
}

function drawBlame() {
	const b = D.blame,
		s = section("blame", "Blame", "Who ended the waits, and what that one was waiting for itself.");
	if (!b.pairs.length) {
		s.append(el("p", {}, "No wait was recorded."));
		return;
	}
	const holder = el("div", {}),
		shown = el("span", {});
	s.append(el("h3", {}, "Waiters and holders"), holder);
	chart(holder, (box, width) => {
		drawMatrix(box, width);
		shown.textContent = box.dataset.shown;
	});
	s.append(
		el(
			"p",
			{ class: "hint" },
			"Rows waited, columns ended the wait (in italics: nobody did); cells are " +
				(WITH_REQUESTS ? "shares of the variance of latency, in percent. " : "time. "),
			shown,
			someOf("chains"),
			someOf("pairs"),
		),
	);
	s.append(pairTable(), rootTable());
	if (b.chains.length) s.append(chainTable());
	const l = b.limits,
		cut = [
			["too_late", "events came too late to be put in their place"],
			["cycles", "cycles"],
			["deep", "chains were too deep"],
			["links_full", "links were too many"],
			["parts_full", "waits had too many parts"],
			["history", "parts had holders whose waits were no longer kept"],
			["objects_dropped", "objects were dropped"],
		].filter(([k]) => l[k] > 0);
	s.append(
		el(
			"p",
			{ class: "hint" },
			cut.length
				? "Limits that were reached: " +
						cut.map(([k, t]) => `${count(l[k])} ${t}`).join("; ") +
						"."
				: "No limit of this analysis was reached.",
		),
	);
}
