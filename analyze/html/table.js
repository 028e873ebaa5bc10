/* SPDX-License-Identifier: MIT
 * Tables that sort, search and open rows. */

function words(label, value, more) {
	return Object.assign({ label, value }, more);
}

function numbers(label, value, show, more) {
	return Object.assign({ label, number: true, value, cell: r => show(value(r)) }, more);
}

/* columns: { label, title, number, value(row), cell(row), head, opt }; opt: left out where there is little room.
 * options: limit (rows at first), expand(row) -> element below the row, text(row) for find(), foot (rows of cells). */
function table(columns, rows, options) {
	const o = Object.assign({ limit: 20 }, options);
	const body = el("tbody"),
		status = el("p", { class: "hint", role: "status" });
	let order = null,
		down = false,
		needle = "",
		all = false;
	const open = new Set();

	function row(r) {
		const cells = columns.map(c =>
			el(
				c.head ? "th" : "td",
				{
					class: (c.number ? "number" : "") + (c.opt ? " opt" : ""),
					scope: c.head ? "row" : null,
				},
				c.cell ? c.cell(r) : c.value(r),
			),
		);
		const tr = el("tr", {}, cells);
		if (!o.expand) return [tr];
		const button = el("button", {
			type: "button",
			class: "expand",
			"aria-expanded": String(open.has(r)),
			"aria-label": "call path and all figures",
		});
		button.addEventListener("click", () => {
			open.has(r) ? open.delete(r) : open.add(r);
			const below =
				tr.nextSibling && tr.nextSibling.classList.contains("below")
					? tr.nextSibling
					: null;
			button.setAttribute("aria-expanded", String(open.has(r)));
			below ? below.remove() : tr.after(under(r));
		});
		tr.classList.add("opens");
		tr.addEventListener("click", e => {
			if (!e.target.closest("button, a") && !String(window.getSelection())) button.click();
		});
		cells[
			Math.max(
				0,
				columns.findIndex(c => c.head),
			)
		].prepend(button);
		return open.has(r) ? [tr, under(r)] : [tr];
	}
	function under(r) {
		return el("tr", { class: "below" }, el("td", { colspan: columns.length }, o.expand(r)));
	}
	function draw() {
		let list = needle ? rows.filter(r => o.text(r).includes(needle)) : rows.slice();
		if (order)
			list.sort((a, b) => {
				const x = order.value(a),
					y = order.value(b);
				const missing = (x === null) - (y === null);
				return missing || (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
			});
		const shown = all ? list : list.slice(0, o.limit);
		body.replaceChildren(...shown.flatMap(row));
		status.replaceChildren();
		if (needle || shown.length < list.length)
			status.append(
				shown.length < list.length
					? `The first ${count(shown.length)} of ${count(list.length)}`
					: count(list.length) + " of " + count(rows.length),
				needle ? " that match" : "",
				". ",
			);
		if (shown.length < list.length)
			status.append(
				el(
					"button",
					{
						type: "button",
						onclick: () => {
							all = true;
							draw();
						},
					},
					"Show all",
				),
			);
	}
	const heads = columns.map(c => {
		const th = el("th", {
			scope: "col",
			class: (c.number ? "number" : "") + (c.opt ? " opt" : ""),
			title: c.title || null,
		});
		if (o.fixed || !c.value) th.append(c.label);
		else
			th.append(
				el(
					"button",
					{
						type: "button",
						onclick: () => {
							down = order === c ? !down : !!c.number;
							order = c;
							heads.forEach(h => h.removeAttribute("aria-sort"));
							th.setAttribute(
								"aria-sort",
								down ? "descending" : "ascending",
							);
							draw();
						},
					},
					c.label,
				),
			);
		return th;
	});
	const t = el(
		"table",
		{ class: o.class || "" },
		el("caption", { class: o.caption ? "" : "unseen" }, o.caption || o.name || ""),
		el("thead", {}, el("tr", {}, heads)),
		body,
		o.foot
			? el(
					"tfoot",
					{},
					o.foot.map(f =>
						el(
							"tr",
							{},
							f.map((c, i) => {
								const td = el("td", {
									class:
										(columns[i].number
											? "number"
											: "") +
										(columns[i].opt ? " opt" : ""),
								});
								td.append(c);
								return td;
							}),
						),
					),
				)
			: null,
	);
	draw();
	const box = el(
		"div",
		{ class: "scroll", tabindex: "0", role: "region", "aria-label": o.caption || o.name || "table" },
		t,
	);
	const whole = el("div", { class: "tablebox" }, box, status);
	whole.find = text => {
		needle = text;
		draw();
	};
	return whole;
}
