/* SPDX-License-Identifier: MIT
 * The data, how numbers and names are written, elements.
 * Must stay true: text from the recording reaches the document as text only. */
const D = JSON.parse(document.getElementById("data").textContent);
const R = D.report,
	Q = R.requests;
const WITH_REQUESTS = Q.rule !== "none" && Q.count > 0;
const DARK = window.matchMedia("(prefers-color-scheme: dark)");

/* ---- words and numbers ---- */

/* Characters that nobody sees, or that change the order of others, are written out. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

function clean(text) {
	return String(text).replace(
		UNSEEN,
		c =>
			"\\u" +
			(c.codePointAt(0) > 0xffff ? "{" : "") +
			c.codePointAt(0).toString(16).padStart(4, "0") +
			(c.codePointAt(0) > 0xffff ? "}" : ""),
	);
}

function scaled(x, unit) {
	const a = Math.abs(x);
	return x.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2) + "\u00a0" + unit;
}

/* As the text report writes them. */
function ns(x) {
	if (x === null || x === undefined) return "\u2013";
	const a = Math.abs(x);
	for (const [size, unit, from] of [
		[3600e9, "h", 7200e9],
		[60e9, "min", 120e9],
		[1e9, "s", 0.9995e9],
		[1e6, "ms", 0.9995e6],
		[1e3, "\u00b5s", 0.9995e3],
	])
		if (a >= from) return scaled(x / size, unit);
	return a > 0 ? x.toFixed(0) + "\u00a0ns" : "0";
}

function count(n) {
	return n === null || n === undefined ? "\u2013" : String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function percent(part) {
	if (part === null || part === undefined) return "\u2013";
	const x = part * 100;
	return (
		(Math.abs(x) < 0.05 ? "0.0" : x.toFixed(Math.abs(x) >= 99.95 ? 0 : 1)).replace("-", "\u2212") +
		"\u00a0%"
	);
}

function percentWithError(share, se) {
	return percent(share) + (se === null || se === undefined ? "" : " \u00b1\u00a0" + percent(se));
}

/* Of a process or thread. */
function identity(n) {
	return n === null ? "\u2013" : String(n);
}

function decimal(x) {
	return x === null || x === undefined
		? "\u2013"
		: x >= 99.95
			? x.toFixed(0)
			: x >= 9.995
				? x.toFixed(1)
				: x.toFixed(2);
}

function plural(n, one, many) {
	return count(n) + " " + (n === 1 ? one : many || one + "s");
}

/* For axes: no zeros that say nothing. */
function tick(x) {
	return ns(x)
		.replace(/(\.\d*?)0+(?=\u00a0)/, "$1")
		.replace(/\.(?=\u00a0)/, "");
}

function shorten(text, columns) {
	const c = Array.from(text);
	return c.length <= columns ? text : columns < 2 ? "" : c.slice(0, columns - 1).join("") + "\u2026";
}

/* ---- sites ---- */

const SITE = new Map(R.sites.map((s, i) => [s.id, Object.assign(s, { rank: i + 1 })]));

function siteFunction(s) {
	return clean(
		s.function || (s.path.length ? s.path[0].module + "+" + s.path[0].offset : s.operation || "?"),
	);
}

/* Where the function of a site waits: "shop.c:194", "" if that is not known. */
function siteLine(s) {
	const f = s.path.find(x => x.function && x.function === s.function && x.file);
	return f && f.line ? clean(f.file).replace(/^.*\//, "") + ":" + f.line : "";
}

/* "lock_row: pthread_cond_wait" by id, of sites and of who ended waits; those that look alike are told apart. */
const NAME = (() => {
	const plain = new Map(),
		lines = new Map(),
		names = new Map();
	const take = l =>
		l && plain.set(l.id, (l.function ? clean(l.function) + ": " : "") + clean(l.operation || "?"));
	const times = map => {
		const n = new Map();
		map.forEach(name => n.set(name, (n.get(name) || 0) + 1));
		return n;
	};
	for (const p of D.blame.pairs.concat(D.blame.roots)) [p.waiter, p.holder, p.site].forEach(take);
	for (const c of D.blame.chains) c.steps.forEach(s => [s.waiter, s.holder].forEach(take));
	/* a wait of a slow request may be at a site that is not listed */
	for (const q of D.tail ? D.tail.slowest : [])
		q.waits.forEach(w => w.site && take({ id: w.site, function: w.function, operation: w.operation }));
	R.sites.forEach(s => plain.set(s.id, siteFunction(s) + ": " + clean(s.operation || "?")));
	const alike = times(plain);
	for (const [id, name] of plain) {
		const words = alike.get(name) > 1 && D.apart_words[id];
		lines.set(id, words ? name + clean(words) : name);
	}
	const still = times(lines);
	for (const [id, name] of lines) names.set(id, still.get(name) > 1 ? `${name} #${id.slice(0, 4)}` : name);
	return names;
})();

/* Of an id; null: held up. */
function siteName(id) {
	return id === null ? "held up" : NAME.get(id) || String(id);
}

function linkName(l) {
	return l ? siteName(l.id) : null;
}

/* ---- elements ---- */

function el(tag, properties, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(properties || {}))
		if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
		else if (k === "class") e.className = v;
		else if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
	e.append(...children.flat().filter(c => c !== null && c !== undefined));
	return e;
}

/* A part of the page, with its entry in the navigation. */
function section(id, title, lead) {
	const s = el(
		"section",
		{ id, "aria-labelledby": id + "-title" },
		el("h2", { id: id + "-title" }, title),
		lead ? el("p", { class: "lead" }, lead) : null,
	);
	document.getElementById("main").append(s);
	document.querySelector("#nav .wrap").append(el("a", { href: "#" + id }, title));
	return s;
}

function more(title, ...children) {
	return el("details", { class: "more" }, el("summary", {}, title), children);
}

function choice(label, options, change) {
	const s = el(
		"select",
		{ onchange: () => change(s.value) },
		options.map(([value, text]) => el("option", { value }, text)),
	);
	return el("label", { class: "control" }, label + " ", s);
}

/* One of a few, as a row of buttons. */
function switches(label, options, change) {
	const box = el("div", { class: "switches", role: "group", "aria-label": label });
	const press = value => {
		for (const b of box.children) b.setAttribute("aria-pressed", String(b.value === value));
		change(value);
	};
	box.append(
		...options.map(([value, text]) =>
			el(
				"button",
				{ type: "button", value, "aria-pressed": "false", onclick: () => press(value) },
				text,
			),
		),
	);
	box.children[0].setAttribute("aria-pressed", "true");
	box.press = press;
	return box;
}

function search(label, change) {
	const i = el("input", {
		type: "search",
		placeholder: label,
		"aria-label": label,
		autocomplete: "off",
		spellcheck: "false",
		oninput: () => change(i.value.trim().toLowerCase()),
	});
	return i;
}
