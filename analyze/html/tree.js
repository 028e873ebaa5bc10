/* SPDX-License-Identifier: MIT
 * The variance tree as an icicle: outermost function on top, waits at the bottom. */

const ICICLE_ROW = 24;

/* Nodes by parent; widths are sums over the leaves, so they add up where variances do not. */
function treeRoot(by) {
	const nodes = new Map(D.tree.nodes.map(n => [n.node, { n, children: [] }]));
	for (const x of nodes.values()) if (x.n.parent !== null) nodes.get(x.n.parent).children.push(x);
	const width = n =>
		by === "time" ? n.mean_ns : n.report_share === null ? n.mean_ns : Math.max(0, n.report_share);
	const root = d3
		.hierarchy(nodes.get(D.tree.nodes[0].node))
		.sum(x => (x.children.length ? 0 : width(x.n)))
		.sort((a, b) => b.value - a.value);
	return d3.partition()(root);
}

function nodeName(n) {
	return n.kind === "held_up"
		? "held up"
		: n.kind === "path_not_taken"
			? "path not taken"
			: n.kind === "cut"
				? "outer frames not known"
				: clean(n.name);
}

/* How much more of the variance than of the time: 1 is neither. */
function ratio(n) {
	const time = D.tree.mean_ns > 0 ? n.mean_ns / D.tree.mean_ns : 0;
	return n.report_share === null || time <= 0 ? 1 : Math.max(0, n.report_share) / time;
}

function ratioColour() {
	const c = d3
		.scaleLinear()
		.domain([-2, 0, 2])
		.range([colour("calm"), colour("even"), colour("rough")])
		.interpolate(d3.interpolateRgb)
		.clamp(true);
	return r => c(Math.log2(Math.max(r, 0.01)));
}

function nodeLines(n) {
	return [
		nodeName(n) +
			(n.kind === "running"
				? " (on a CPU, waiting for one, or waiting where it cannot be seen)"
				: ""),
		"share of the variance " + percent(n.report_share),
		"its own variance " + percentWithError(n.share, n.share_se),
		ns(n.mean_ns) +
			" a request, " +
			percent(D.tree.mean_ns > 0 ? n.mean_ns / D.tree.mean_ns : 0) +
			" of the time",
	];
}

function icicle(by) {
	const self = { by, root: treeRoot(by), needle: "" };
	self.focus = self.root;
	self.set = value => {
		self.by = value;
		self.root = treeRoot(value);
		self.focus = self.root;
		self.draw();
	};
	self.zoom = d => {
		self.focus = d;
		self.at = d;
		self.draw(true);
	};
	self.find = text => {
		self.needle = text;
		self.draw();
	};
	self.matches = d => self.needle && nodeName(d.data.n).toLowerCase().includes(self.needle);
	return self;
}

/* What the outermost matches hold together. */
function matched(view) {
	let n = 0,
		sum = 0;
	(function look(d) {
		if (view.matches(d)) {
			n++;
			sum += view.by === "time" ? d.data.n.mean_ns / D.tree.mean_ns : d.data.n.report_share || 0;
		} else {
			(d.children || []).forEach(look);
		}
	})(view.root);
	return [n, sum];
}

function move(view, d, key) {
	const siblings = d.parent ? d.parent.children : [d],
		i = siblings.indexOf(d);
	return {
		ArrowUp: d.parent,
		ArrowDown: d.children && d.children[0],
		ArrowLeft: siblings[i - 1],
		ArrowRight: siblings[i + 1],
		Home: view.root,
	}[key];
}

function drawIcicle(view, box, width, refocus) {
	const f = view.focus,
		up = new Set(f.ancestors()),
		fill = ratioColour();
	const x = d => (up.has(d) ? 0 : ((d.x0 - f.x0) / (f.x1 - f.x0 || 1)) * width);
	const w = d => (up.has(d) ? width : ((d.x1 - d.x0) / (f.x1 - f.x0 || 1)) * width);
	const shown = view.root
		.descendants()
		.filter(d => up.has(d) || (d.depth > f.depth && d.ancestors().includes(f) && w(d) >= 1));
	const height = (d3.max(shown, d => d.depth) + 1) * ICICLE_ROW;
	const g = svg(box, width, height, "Variance tree").attr("role", "group");
	const looks = d =>
		(up.has(d) && d !== f ? " above" : "") + (!view.needle ? "" : view.matches(d) ? " match" : " dim");
	const figure = d => (view.by === "time" ? ns(d.data.n.mean_ns) : percent(d.data.n.report_share));
	const label = d => nodeName(d.data.n) + (w(d) > 150 ? "  " + figure(d) : "");
	const node = puts(g, "g", shown, {
		class: d => "node" + looks(d),
		transform: d => `translate(${x(d)},${d.depth * ICICLE_ROW})`,
		role: "button",
		tabindex: d => (d === (view.at || f) ? 0 : -1),
		"aria-label": d => nodeLines(d.data.n).join(", "),
	});
	put(node, "rect", {
		width: d => Math.max(1, w(d) - 1),
		height: ICICLE_ROW - 1,
		fill: d =>
			d.data.n.kind === "running" || d.data.n.kind === "held_up"
				? colour("even")
				: fill(ratio(d.data.n)),
	});
	put(node, "text", { x: 6, y: ICICLE_ROW / 2 + 4 }).text(d =>
		shorten(label(d), Math.floor((w(d) - 10) / 7.4)),
	);
	node.each(function (d) {
		tipOn(this, () => nodeLines(d.data.n));
		this.addEventListener("click", () => view.zoom(d));
		this.addEventListener("keydown", e => {
			const to = move(view, d, e.key);
			if (e.key === "Enter" || e.key === " ") {
				view.zoom(d);
			} else if (e.key === "Escape") {
				view.zoom(view.root);
			} else if (to) {
				const target = node.nodes()[shown.indexOf(to)];
				if (!target) return;
				node.attr("tabindex", -1);
				target.setAttribute("tabindex", "0");
				view.at = to;
				target.focus();
			} else {
				return;
			}
			e.preventDefault();
		});
	});
	if (refocus) node.nodes()[shown.indexOf(f)].focus({ preventScroll: true });
}

function ratioLegend() {
	const fill = ratioColour(),
		box = el("p", { class: "legend" }, "Colour: ");
	for (const [r, text] of [
		[0.25, "steady: less of the variance than of the time"],
		[1, "as much of both"],
		[4, "makes the difference: more of the variance than of the time"],
	]) {
		const swatch = el("i", { class: "swatch" });
		swatch.style.background = fill(r);
		box.append(el("span", {}, swatch, text));
	}
	return box;
}

function treeTable() {
	const depth = new Map(),
		order = [],
		kids = new Map();
	for (const n of D.tree.nodes) {
		depth.set(n.node, n.parent === null ? 0 : depth.get(n.parent) + 1);
		kids.set(n.parent, (kids.get(n.parent) || []).concat(n));
	}
	(function walk(list) {
		list.slice()
			.sort((a, b) => b.share - a.share)
			.forEach(n => {
				order.push(n);
				walk(kids.get(n.node) || []);
			});
	})(kids.get(null));
	const rows = order.filter(
		n =>
			Math.abs(n.share) >= 0.001 ||
			Math.abs(n.report_share || 0) >= 0.001 ||
			n.mean_ns >= D.tree.mean_ns / 1000,
	);
	const t = table(
		[
			{
				label: "function, wait",
				head: true,
				cell: n => {
					const c = el("span", { class: "indent" }, nodeName(n));
					c.style.paddingLeft = Math.min(depth.get(n.node), 24) * 0.8 + "em";
					return c;
				},
			},
			numbers("share", n => n.report_share, percent, {
				title: "sum of the shares of the sites under it",
			}),
			{
				label: "own variance",
				number: true,
				title: "variance of the time under it, over the variance of latency",
				cell: n => percentWithError(n.share, n.share_se),
			},
			numbers("time/req", n => n.mean_ns, ns),
		],
		rows,
		{ name: "Variance tree", limit: 60, fixed: true },
	);
	return el(
		"div",
		{},
		el(
			"p",
			{ class: "hint" },
			"Share: covariance of the time there with latency, as of the wait sites. Own variance: of the time " +
				"there alone; it lacks what two vary together, so the two differ where waits depend on each other.",
		),
		t,
		rows.length < order.length
			? el(
					"p",
					{ class: "hint" },
					`${plural(order.length - rows.length, "node")} below 0.1\u00a0% left out.`,
				)
			: null,
	);
}

function drawTree() {
	if (!D.tree) return;
	const s = section(
		"tree",
		"Variance tree",
		"Through which functions the variance comes. Widths add up from the waits to the request.",
	);
	const can = D.tree.nodes[0].report_share !== null,
		view = icicle(can ? "variance" : "time"),
		found = el("span", { class: "hint", role: "status" });
	const reset = el("button", { type: "button", onclick: () => view.zoom(view.root) }, "Whole tree");
	s.append(
		el(
			"div",
			{ class: "controls" },
			can
				? switches(
						"Width",
						[
							["variance", "by variance"],
							["time", "by time"],
						],
						v => {
							view.set(v);
							say();
						},
					)
				: null,
			reset,
			search("function", text => {
				view.find(text);
				say();
			}),
			found,
		),
	);
	const holder = el("div", { class: "icicle" }),
		legend = el("div", {});
	s.append(holder, legend);
	const c = chart(holder, (box, width) => {
		drawIcicle(view, box, width, false);
		legend.replaceChildren(ratioLegend());
	});
	function say() {
		const [n, sum] = matched(view);
		found.textContent = view.needle
			? `${plural(n, "match", "matches")}: ${percent(sum)} of the ` +
				(view.by === "time" ? "time" : "variance")
			: "";
	}
	view.draw = refocus => {
		c.box.replaceChildren();
		drawIcicle(view, c.box, chartWidth(c.box), refocus);
		reset.disabled = view.focus === view.root;
	};
	reset.disabled = true;
	const negative = D.tree.nodes.filter(n => n.kind === "wait" && n.report_share < 0),
		sum = d3.sum(negative, n => n.report_share);
	s.append(
		el(
			"p",
			{ class: "hint" },
			"Click, or Enter, zooms; arrow keys move; Escape shows all. ",
			D.tree.folded ? `Left out, since all paths begin with it: ${clean(D.tree.folded)}. ` : "",
			negative.length
				? "No width, but in the table: " +
						`${plural(negative.length, "wait")} with a negative share, ` +
						`together ${percent(sum)}.`
				: "",
		),
	);
	s.append(more("As a table", treeTable()));
}
