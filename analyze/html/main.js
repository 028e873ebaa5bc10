/* SPDX-License-Identifier: MIT
 * The order of the page, and when it is drawn again. */

drawHead();
drawSummary();
drawLatency();
drawSites();
drawTree();
drawHeatMap();
const startScatter = drawScatterPlot();
drawBlame();
drawSlowest();
drawCoverage();
redraw();
if (startScatter) startScatter();

/* Again with another width, other colours, and for paper. */
let lastWidth = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
	if (document.documentElement.clientWidth !== lastWidth) {
		lastWidth = document.documentElement.clientWidth;
		redraw();
	}
});
DARK.addEventListener("change", redraw);
for (const [event, on] of [
	["beforeprint", true],
	["afterprint", false],
])
	window.addEventListener(event, () => {
		document.documentElement.classList.toggle("printing", on);
		redraw();
	});
document.addEventListener(
	"toggle",
	e => {
		if (e.target.open) drawn.filter(c => e.target.contains(c.box)).forEach(c => c.draw());
	},
	true,
);
document.addEventListener("keydown", e => {
	if (e.key === "Escape") hideTip();
});
document.documentElement.dataset.ready = "yes";
