/* SPDX-License-Identifier: MIT
 * Drawing: charts that follow width and colours, axes, tips. */

const drawn = [],
	PAPER = 760;

/* On paper a chart has the part of the width that it has on the screen. */
function chartWidth(box) {
	const k = document.documentElement.classList.contains("printing")
		? PAPER / document.getElementById("main").clientWidth
		: 1;
	return Math.max(280, Math.floor(box.clientWidth * k));
}

/* draw(box, width) is called now and whenever width or colours change. */
function chart(parent, draw) {
	const box = el("div", { class: "chart" });
	parent.append(box);
	const entry = {
		box,
		draw: () => {
			box.replaceChildren();
			draw(box, chartWidth(box));
		},
	};
	drawn.push(entry);
	return entry;
}

function redraw() {
	drawn.forEach(c => c.draw());
}

/* Vector drawings scale with the paper. */
function svg(box, width, height, label) {
	return put(d3.select(box), "svg", {
		viewBox: `0 0 ${width} ${height}`,
		width,
		height,
		role: "img",
		"aria-label": label,
	});
}

function colour(name) {
	return getComputedStyle(document.documentElement)
		.getPropertyValue("--" + name)
		.trim();
}

/* From nothing to much. */
function heatColours() {
	return d3.interpolateRgbBasis(["heat0", "heat1", "heat2", "heat3", "heat4"].map(colour));
}

/* An element of a drawing with its attributes. */
function put(g, tag, attributes) {
	return attrs(g.append(tag), attributes);
}

/* One for each of the data. */
function puts(g, tag, data, attributes) {
	return attrs(g.selectAll(null).data(data).enter().append(tag), attributes);
}

function attrs(selection, attributes) {
	for (const [k, v] of Object.entries(attributes)) selection.attr(k, v);
	return selection;
}

function axisTitle(g, x, y, text, anchor) {
	put(g, "text", { class: "axis-title", x, y, "text-anchor": anchor || "start" }).text(text);
}

/* axis: one of d3's, with its ticks. */
function putAxis(g, x, y, axis) {
	return put(g, "g", { class: "axis", transform: `translate(${x},${y})` }).call(axis.tickSizeOuter(0));
}

function putGrid(g, ticks, left, right, y) {
	puts(put(g, "g", { class: "grid" }), "line", ticks, { x1: left, x2: right, y1: y, y2: y });
}

/* Few ticks where there is little room. */
function logTicks(lo, hi, room) {
	const all = [];
	for (let p = Math.floor(Math.log10(lo)); p <= Math.log10(hi) + 1; p++)
		for (const m of [1, 2, 5]) all.push(m * Math.pow(10, p));
	const inside = all.filter(x => x >= lo * 0.999 && x <= hi * 1.001);
	const tens = inside.filter(x => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9);
	return inside.length <= room
		? inside
		: tens.length <= room
			? tens
			: tens.filter((x, i) => i % Math.ceil(tens.length / room) === 0);
}

/* ---- tips ---- */

const tip = document.getElementById("tip");

function showTip(lines, x, y) {
	tip.replaceChildren(...lines.map((l, i) => el(i ? "div" : "strong", {}, l)));
	tip.hidden = false;
	const w = tip.offsetWidth,
		h = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(x + 12, window.innerWidth - w - 8)) + "px";
	tip.style.top = (y + 16 + h > window.innerHeight ? Math.max(4, y - h - 10) : y + 16) + "px";
}

function hideTip() {
	tip.hidden = true;
}

/* lines(event) -> texts, null: nothing there. */
function tipOn(element, lines) {
	const show = e => {
		const l = lines(e),
			b = element.getBoundingClientRect();
		if (l)
			showTip(
				l,
				e.clientX === undefined ? b.left : e.clientX,
				e.clientY === undefined ? b.top : e.clientY,
			);
		else hideTip();
	};
	element.addEventListener("pointermove", show);
	element.addEventListener("pointerleave", hideTip);
	element.addEventListener("focus", show);
	element.addEventListener("blur", hideTip);
}
