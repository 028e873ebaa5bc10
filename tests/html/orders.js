// SPDX-License-Identifier: MIT
// usage: orders.js FOLDER PICTURES; FOLDER has the page and what the other commands print.
const fs = require("fs"),
	path = require("path"),
	assert = require("assert");
const { check, open, print, run, unfold, sideways } = require("./browser.js");
const [folder, pictures] = process.argv.slice(2);
const read = name => fs.readFileSync(path.join(folder, name), "utf8");
const json = name => JSON.parse(read(name));
const plain = text =>
	text
		.replace(/\u00b5/g, "u")
		.replace(/[\u00a0\u202f]/g, " ")
		.replace(/\u2212/g, "-")
		.trim();

function same(a, b) {
	try {
		assert.deepStrictEqual(a, b);
		return true;
	} catch (e) {
		return false;
	}
}

// A row of the text report: number, share, +-, tail, waits, waits a request, and five times.
const ROW = new RegExp(
	"^ +(\\d+) +(-?[\\d.]+ %) +([\\d.]+ %|-) +(-?[\\d.]+ %) +([\\d ]+?) {2,}([\\d.]+) +" +
		"((?:[\\d.]+(?: (?:ns|us|ms|s|min|h))? +){5})",
);

// A node of the tree that shows this text.
const node = (page, text) => page.locator("#tree g.node").filter({ hasText: text }).first();
const width = async locator => Number(await locator.locator("rect").getAttribute("width"));

async function figures(page) {
	const data = JSON.parse(await page.locator("#data").textContent()),
		report = json("report.json");
	for (const name of ["report", "tree", "tail", "blame"])
		check(same(data[name], json(name + ".json")), `the data of tarry ${name} --json`);
	check(
		same(
			report.sites.map(s => s.id),
			data.report.sites.map(s => s.id),
		),
		"all sites",
	);

	const shown = await page
		.locator("#summary .figures > div")
		.evaluateAll(l => l.map(d => [d.children[0].textContent, d.children[1].textContent]));
	const text = read("report.txt").split("\n"),
		head = text.findIndex(l => /^ +mean +sd +p50/.test(l));
	const row = text[head + 1]
		.trim()
		.split(/  +/)
		.map(w => w.trim());
	check(
		same(
			shown.slice(1).map(([, v]) => plain(v)),
			row.slice(0, 7),
		),
		"mean, sd, quantiles as in the text",
		[shown, row],
	);
	check(plain(shown[0][1]) === text[head - 1].split(" requests")[0].trim(), "requests as in the text");

	// share, +-, tail99, waits, /req, total, mean, sd, p99, max
	const table = text
		.slice(text.findIndex(l => /^ +share +\+-/.test(l)) + 1)
		.slice(0, 10)
		.map(l => l.match(ROW))
		.filter(m => m);
	const cells = await page
		.locator("#sites tbody tr.opens")
		.evaluateAll(l => l.slice(0, 10).map(r => [...r.children].map(c => c.textContent)));
	check(table.length === 10 && cells.length === 10, "ten rows to compare");
	for (let i = 0; i < table.length; i++) {
		const t = table[i],
			c = cells[i].map(plain),
			times = t[7].match(/[\d.]+( [a-z]+)?/g);
		const want = [t[1], t[3], t[4], t[6], t[5], ...times],
			got = [c[0], c[3], c[4], c[6], c[7], ...c.slice(8, 13)];
		check(c[2].startsWith(t[2]) && same(got, want), `row ${i + 1} as in the text`, [c, t.slice(1)]);
	}
	const running = await page.locator("#sites tfoot tr").first().textContent();
	check(plain(running).includes(plain((100 * report.running.share).toFixed(1) + " %")), "running");

	const h = data.latency.histogram,
		q = data.latency.quantiles;
	check(
		h.counts.reduce((a, b) => a + b) === report.requests.count &&
			h.edges_ns.length === h.counts.length + 1,
		"every request is in the histogram",
	);
	check(
		q.every((p, i) => !i || (p[0] > q[i - 1][0] && p[1] >= q[i - 1][1])) &&
			q[q.length - 1][1] === report.requests.max_ns,
		"percentiles rise to the slowest",
	);
	check(
		q.some(([p, ns]) => Math.abs(p - 0.5) < 1e-9 && ns === report.requests.p50_ns),
		"the median is among them",
	);
}

async function sample(page) {
	const { sample: s, report, tail } = JSON.parse(await page.locator("#data").textContent()),
		n = report.requests.count;
	check(
		s.of === n && s.rank.length === s.slowest + s.others && s.slowest === Math.min(n, 400),
		"the sample's size",
	);
	check(
		s.rank.every((r, i) => !i || r > s.rank[i - 1]) &&
			s.rank.slice(-s.slowest)[0] === n - s.slowest &&
			s.rank[s.rank.length - 1] === n - 1,
		"the slowest are all in it",
	);
	const gaps = s.rank.slice(1, s.others).map((r, i) => r - s.rank[i]);
	check(Math.max(...gaps) - Math.min(...gaps) <= 1, "the others are evenly spaced");
	check(
		s.latency_ns.every((l, i) => !i || l >= s.latency_ns[i - 1]) &&
			s.latency_ns[s.rank.length - 1] === report.requests.max_ns,
		"in order of latency",
	);
	const rows = s.sites.concat(s.other_sites);
	check(
		s.latency_ns.every((l, i) => rows.reduce((a, r) => a + r.ns[i], 0) <= l),
		"no request waits longer than it lasts",
	);
	check(
		rows.every(r => r.ns.every((x, i) => x === 0 || r.waits[i] > 0)),
		"where there is time there are waits",
	);
	for (let k = 0; k < 5; k++) {
		const q = tail.slowest[k],
			i = s.rank.length - 1 - k,
			by = new Map();
		q.waits.forEach(w => by.set(w.site, (by.get(w.site) || 0) + w.duration_ns));
		if (
			s.latency_ns[i] === s.latency_ns[i - 1] ||
			s.latency_ns[i] === s.latency_ns[i + 1] ||
			q.summed_waits
		)
			continue;
		check(
			s.sites.every(r => r.ns[i] === (by.get(r.site) || 0)),
			`times of the slowest but ${k} are those of its waits`,
		);
	}
}

async function sites(page) {
	const rows = () =>
		page
			.locator("#sites tbody tr.opens")
			.evaluateAll(l =>
				l.map(r => r.querySelector("th b").textContent + " " + r.children[8].textContent),
			);
	const total = page.locator("#sites thead th").filter({ hasText: "total" });
	const parse = t => {
		const m = t.replace(/[\u00a0\u202f]/g, " ").match(/ ([\d.]+) (h|min|s|ms|µs|ns)$/);
		return m ? Number(m[1]) * { h: 3600e9, min: 60e9, s: 1e9, ms: 1e6, µs: 1e3, ns: 1 }[m[2]] : 0;
	};
	await total.locator("button").click();
	let list = (await rows()).map(parse);
	check(
		(await total.getAttribute("aria-sort")) === "descending" &&
			list.length > 5 &&
			list.every((x, i) => !i || x <= list[i - 1]),
		"sites sort by total",
		list,
	);
	await total.locator("button").press("Enter");
	list = (await rows()).map(parse).filter(x => x > 0);
	check(
		(await total.getAttribute("aria-sort")) === "ascending" &&
			list.every((x, i) => !i || x >= list[i - 1]),
		"and the other way, by keyboard",
		list,
	);
	await page.locator("#sites thead th").filter({ hasText: "#" }).locator("button").click();
	await page.locator("#sites thead th").filter({ hasText: "#" }).locator("button").click();
	const all = json("report.json").sites,
		has = s =>
			JSON.stringify([
				s.function,
				s.operation,
				s.object,
				s.path.map(f => [f.function, f.file, f.module]),
			]).includes("wal_flush");
	await page.locator("#sites input[type=search]").fill("WAL_flush");
	const found = await page.locator("#sites tbody tr.opens").count();
	check(
		found === Math.min(20, all.filter(has).length) && found > 1 && found < all.length,
		"search finds the sites with wal_flush",
		found,
	);
	const first = page.locator("#sites tbody tr.opens").first();
	await first.locator("button.expand").press("Enter");
	const unfolded = await page.locator("#sites tr.below").first().textContent(),
		site = all.find(has);
	check(
		(await first.locator("button.expand").getAttribute("aria-expanded")) === "true" &&
			site.path.every(f => unfolded.includes(f.function || f.offset)),
		"its call path unfolds",
	);
	check(unfolded.includes("shop.c:") && unfolded.includes(site.id), "with lines and the site's id");
	await page.locator("#sites input[type=search]").fill("no such function");
	check((await page.locator("#sites tbody tr").count()) === 0, "search for nothing finds nothing");
	await page.locator("#sites input[type=search]").fill("");
	await page.locator("#sites .tablebox > .hint button").click();
	check((await page.locator("#sites tbody tr.opens").count()) === all.length, "show all shows all");
}

async function tree(page) {
	const { nodes } = json("tree.json"),
		lock = nodes.find(n => n.name === "lock_row"),
		root = node(page, "request");
	const whole = await width(root),
		before = await width(node(page, "lock_row"));
	check(Math.abs(before / whole - lock.report_share) < 0.01, "widths are shares", [
		before / whole,
		lock.report_share,
	]);
	const kids = nodes.filter(n => n.parent === 0).reduce((a, n) => a + n.report_share, 0);
	check(Math.abs(kids - 1) < 1e-9 && Math.abs(nodes[0].report_share - 1) < 1e-9, "they add up to 1", kids);
	await node(page, "lock_row").click();
	check(Math.abs((await width(node(page, "lock_row"))) - whole) < 2, "a click zooms");
	await node(page, "lock_row").press("Escape");
	check(Math.abs((await width(node(page, "lock_row"))) - before) < 1, "Escape shows the whole tree");
	await page.locator("#tree g.node[tabindex='0']").focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	const at = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
	check(at && !at.startsWith("request") && !at.startsWith("handle_order"), "arrow keys go down", at);
	await page.keyboard.press("Enter");
	check(await page.locator("#tree button", { hasText: "Whole tree" }).isEnabled(), "Enter zooms");
	await page.locator("#tree button", { hasText: "Whole tree" }).click();
	await page.locator("#tree input[type=search]").fill("lock_row");
	const words = plain(await page.locator("#tree .controls [role=status]").textContent());
	const up = n =>
		n.parent === null
			? []
			: [nodes.find(p => p.node === n.parent), ...up(nodes.find(p => p.node === n.parent))];
	const matches = nodes.filter(
		n => n.name.includes("lock_row") && !up(n).some(p => p.name.includes("lock_row")),
	);
	const held = (100 * matches.reduce((a, n) => a + n.report_share, 0)).toFixed(1);
	check(
		words.startsWith(matches.length + " match") &&
			words.includes(held + " %") &&
			(await page.locator("#tree g.match").count()) > 0,
		"search says what it found",
		words,
	);
	await page.locator("#tree input[type=search]").fill("");
	await page.locator("#tree .switches button", { hasText: "by time" }).click();
	check(
		Math.abs((await width(node(page, "lock_row"))) / whole - lock.mean_ns / nodes[0].mean_ns) < 0.01,
		"widths by time",
	);
	await page.locator("#tree .switches button", { hasText: "by variance" }).click();
}

const pixels = (page, canvas) =>
	page.locator(canvas).evaluate(c => {
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data,
			seen = new Set();
		let sum = 0;
		for (let i = 0; i < d.length; i += 4 * 97) {
			seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
			sum += d[i] * (i % 1009) + d[i + 3];
		}
		return { colours: seen.size, sum };
	});

async function requests(page) {
	const canvas = "#heat canvas",
		all = await pixels(page, canvas),
		axis = () => page.locator("#heat svg .axis").last().textContent();
	check(all.colours > 20, "the heat map has colours", all);
	const whole = await axis();
	await page.locator("#heat .switches button", { hasText: "slowest 400" }).click();
	const slow = await pixels(page, canvas),
		near = await axis();
	check(slow.sum !== all.sum && near !== whole, "the slowest are zoomed", [whole, near]);
	await page.locator("#heat button[aria-label='zoom in']").click();
	await page.locator("#heat button[aria-label='faster requests']").click();
	check((await axis()) !== near, "buttons move");
	await page.locator("#heat .switches button").first().click();
	check((await axis()) === whole, "and all are back");
	await page.locator(canvas).focus();
	await page.keyboard.press("End");
	const words = plain(await page.locator("#tip").textContent());
	const r = json("report.json").requests;
	check(
		words.includes("the slowest") &&
			words.includes("of " + String(r.count).replace(/\B(?=(\d{3})+$)/g, " ")),
		"the keyboard reaches the slowest request",
		words,
	);
	const box = await page.locator(canvas).boundingBox();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.8, box.y + 20, { steps: 4 });
	await page.mouse.up();
	const dragged = await axis();
	const ticks = dragged.match(/[\d.]+/g).map(Number);
	check(ticks.length > 2 && ticks.every(t => t > 49 && t < 81), "dragging zooms", dragged);
	await page.locator("#heat .switches button").first().click();

	const options = await page.locator("#scatter select").first().locator("option").count(),
		seen = new Set();
	for (let i = 0; i < options; i++) {
		await page.locator("#scatter select").first().selectOption(String(i));
		seen.add((await pixels(page, "#scatter canvas")).sum);
	}
	check(options > 8 && seen.size > options * 0.7, "each site has its own picture", [options, seen.size]);
	await page.locator("#scatter select").first().selectOption("0");
	const time = await pixels(page, "#scatter canvas"),
		note = await page.locator("#scatter [role=status]").first().textContent();
	const best = json("tail.json").sites.find(s => s.site === json("report.json").sites[0].id);
	check(
		note.includes(best.r2_time.toFixed(3)) && /sample|All /.test(note),
		"says the correlation and the sampling",
		note,
	);
	await page.locator("#scatter select").nth(1).selectOption("waits");
	check((await pixels(page, "#scatter canvas")).sum !== time.sum, "by number of waits");
	await page.locator("#scatter select").nth(1).selectOption("ns");
	await page.locator("#scatter select").nth(2).selectOption("root");
	check((await pixels(page, "#scatter canvas")).sum !== time.sum, "other scales");
	await page.locator("#scatter select").nth(2).selectOption("linear");
}

async function rest(page) {
	const blame = json("blame.json"),
		tail = json("tail.json"),
		cell = page.locator("#blame rect.cell[tabindex]").first();
	await cell.scrollIntoViewIfNeeded();
	await cell.hover();
	const words = plain(await page.locator("#tip").textContent()),
		pair = blame.pairs[0];
	check(
		words.includes(pair.waiter.function) && words.includes((100 * pair.share).toFixed(1)),
		"the matrix says who held whom",
		words,
	);
	await page.mouse.move(0, 0);
	const pairs = page.locator("#blame table").first(),
		known = blame.pairs.findIndex(p => p.holder), // who ends the longest waits may be none of the program's
		row = plain(await pairs.locator("tbody tr").nth(known).textContent());
	check(row.includes(blame.pairs[known].holder.function), "pairs name the holder", row);
	const slow = page.locator("#slowest details.request");
	check((await slow.count()) === tail.slowest.length, "the slowest requests");
	for (const i of [0, tail.slowest.length - 1]) {
		await slow.nth(i).locator("summary").click();
		await slow.nth(i).locator("table").waitFor();
		const rows = await slow.nth(i).locator("tbody tr").count();
		check(rows === Math.min(60, tail.slowest[i].waits.length), `wait by wait, ${i + 1}`, rows);
		check(
			plain(await slow.nth(i).locator("summary").textContent()).includes("#" + (i + 1)),
			"with its place",
		);
	}
	const woken = tail.slowest[0].waits.find(w => w.waker_function);
	if (woken)
		check(
			(await slow.nth(0).locator("tbody").textContent()).includes(woken.waker_function),
			"and who woke it",
		);
	const links = await page
		.locator("nav a")
		.evaluateAll(l =>
			l.map(a => [a.getAttribute("href"), !!document.querySelector(a.getAttribute("href"))]),
		);
	check(links.length >= 9 && links.every(l => l[1]), "the navigation leads somewhere", links);
	await unfold(page);
	for (const s of ["latency", "tree", "heat", "scatter", "blame", "slowest", "coverage"])
		check((await page.locator(`#${s} table`).count()) > 0, `${s} has its data as a table`);
	const unnamed = await page.evaluate(() =>
		[...document.querySelectorAll("svg, canvas, button, input, select, table")]
			.filter(e => {
				if (e.getAttribute("aria-hidden") === "true") return false;
				return !(
					e.getAttribute("aria-label") ||
					(e.caption ? e.caption.textContent : e.textContent).trim() ||
					e.closest("label")
				);
			})
			.map(e => e.outerHTML.slice(0, 120)),
	);
	check(unnamed.length === 0, "everything has a name", unnamed);
}

async function looks(file) {
	const shot = async (name, options, act) => {
		const b = await open(file, options),
			text = await act(b.page);
		await b.page.screenshot({ path: path.join(pictures, name), fullPage: true });
		check(b.complaints.length === 0, name + ": no complaint", b.complaints);
		await b.close();
		return text;
	};
	const paper = p => p.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const light = await shot("light.png", { colorScheme: "light" }, paper),
		dark = await shot("dark.png", { colorScheme: "dark" }, paper);
	check(light === "rgb(255, 255, 255)" && light !== dark, "light and dark", [light, dark]);
	for (const wide of [320, 390])
		await shot(
			`phone-${wide}.png`,
			{ viewport: { width: wide, height: 844 }, isMobile: true, hasTouch: true },
			async page => {
				check(
					(await sideways(page)) <= 0,
					`nothing scrolls sideways at ${wide} pixels`,
					await sideways(page),
				);
				await unfold(page);
				check(
					(await sideways(page)) <= 0,
					"nor when everything is open",
					await sideways(page),
				);
				await page.evaluate(() =>
					document.querySelectorAll("details").forEach(d => {
						d.open = false;
					}),
				);
			},
		);
	const b = await open(file, { colorScheme: "dark" });
	const before = await pixels(b.page, "#heat canvas");
	await b.page.evaluate(() =>
		window.addEventListener("beforeprint", () => {
			window.onPaper = [
				getComputedStyle(document.body).backgroundColor,
				document.querySelector("#heat canvas").width,
			];
		}),
	);
	await print(b.page, { path: path.join(pictures, "print.pdf"), format: "A4" });
	const onPaper = await b.page.evaluate(() => window.onPaper),
		after = await pixels(b.page, "#heat canvas");
	const pdf = fs.readFileSync(path.join(pictures, "print.pdf"), "latin1"),
		pages = (pdf.match(/\/Type\s*\/Page\b/g) || []).length;
	check(onPaper && onPaper[0] === "rgb(255, 255, 255)", "paper is white, whatever the screen", onPaper);
	check(pages >= 3 && pages < 20, "prints on some pages", pages);
	check(before.sum === after.sum, "and the screen is as it was");
	check(b.complaints.length === 0, "print: no complaint", b.complaints);
	await b.close();
}

run(async () => {
	const file = path.join(folder, "orders.html"),
		b = await open(file);
	await figures(b.page);
	await sample(b.page);
	await sites(b.page);
	await tree(b.page);
	await requests(b.page);
	await rest(b.page);
	await b.page.setViewportSize({ width: 700, height: 900 });
	check((await sideways(b.page)) <= 0, "a narrow window");
	await b.page.emulateMedia({ colorScheme: "dark" });
	check(b.complaints.length === 0, "no error, no request", b.complaints);
	await b.close();
	await looks(file);
});
