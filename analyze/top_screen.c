/* SPDX-License-Identifier: MIT
 *
 * `tarry top` on a terminal: shows frames, scrolls the list of threads, obeys
 * keys.  Runs in a reader.  Must stay true: the terminal is as it was when we
 * leave, also by an error or a signal that ends us. */
#include <locale.h>
#include <ncurses.h>
#include <signal.h>

#include "analyze/top.h"
#include "recorder/proc.h"

#define SITES 6 /* above the threads */

static const char *const sort_names[TY_SORTS] = { "time waited", "operation", "thread's name", "process and thread id" };
static const char *const help_text[] = {
	"Keys of tarry top",
	"",
	"  q         quit",
	"  h ?       this page",
	"  space     refresh now",
	"  d         seconds between refreshes",
	"  s         sort threads by the next of: time waited, operation, name, id",
	"  arrows, Page Up, Page Down, Home, End    scroll the threads",
	"",
	"  FOR: how long the wait has lasted that the thread is in; -: in no recorded wait.",
	"  ASKED BY: the function that called; ~function: it waited last for the same object.",
	"",
	"Any key goes back.",
	NULL
};

static volatile sig_atomic_t stopped;
static void stop(int signal) { stopped = signal; }

struct screen {
	struct ty_top *t;
	double *delay;
	size_t top;         /* first thread shown */
	bool help;
	char note[80];      /* on the last line until the next key */
};

static size_t room(void) /* lines for threads */
{
	int used = 3 + 1 + 1 + SITES + 1 + 1 + 1;
	return LINES > used ? (size_t)(LINES - used) : 1;
}

static void scroll_to(struct screen *s, int64_t top)
{
	int64_t most = (int64_t)s->t->threads - (int64_t)room();
	top = top > most ? most : top;
	s->top = top > 0 ? (size_t)top : 0;
}

static void show_help(void)
{
	for (int i = 0; i < LINES && help_text[i]; i++)
		mvaddnstr(i, 0, help_text[i], COLS);
}

static void show_frame(struct screen *s)
{
	struct ty_top_lines l = { 0 };
	int row = 0;
	if (ty_top_lines(s->t, COLS > 20 ? (unsigned)COLS : 20, SITES, &l) == 0) {
		size_t above = l.head,
		       blanks = SITES - (s->t->sites < SITES ? (s->t->sites ? s->t->sites : 1) : SITES);
		for (size_t i = 0; i < above && row < LINES; i++) {
			bool title = i == 4 || i + 1 == above;
			if (i + 2 == above)
				row += (int)blanks; /* the threads stay where they are */
			if (title)
				attron(A_REVERSE);
			mvaddnstr(row++, 0, l.v[i], COLS);
			if (title) {
				for (int x = getcurx(stdscr); x < COLS && x > 0; x++)
					addch(' ');
				attroff(A_REVERSE);
			}
		}
		for (size_t i = s->top; i < l.threads && row < LINES - 1; i++)
			mvaddnstr(row++, 0, l.v[l.head + i], COLS);
	}
	ty_top_lines_free(&l);
	if (*s->note)
		mvaddnstr(LINES - 1, 0, s->note, COLS);
	else
		mvprintw(LINES - 1, 0, "sorted by %s, every %.4g s; h for help", sort_names[s->t->sort],
			 *s->delay);
}

static void show(struct screen *s)
{
	erase();
	if (s->help)
		show_help();
	else
		show_frame(s);
	refresh();
}

static void ask_delay(struct screen *s)
{
	char text[16] = "", *end;
	mvprintw(LINES - 1, 0, "seconds between refreshes (now %.4g): ", *s->delay);
	clrtoeol();
	echo();
	curs_set(1);
	timeout(-1);
	int got = getnstr(text, sizeof text - 1);
	noecho();
	curs_set(0);
	double d = strtod(text, &end);
	if (got == OK && *text && (*end || !(d >= 0.1 && d <= 3600)))
		snprintf(s->note, sizeof s->note, "'%.15s' is not a number of seconds from 0.1 to 3600",
			 text);
	else if (got == OK && *text)
		*s->delay = d;
}

/* False: quit.  *again: read everything anew. */
static bool key(struct screen *s, int c, bool *again)
{
	int64_t top = (int64_t)s->top, page = (int64_t)room();
	s->note[0] = 0;
	if (s->help && c != 'q') {
		s->help = false;
		return true;
	}
	switch (c) {
	case 'q': case 'Q': case 3: return false;
	case 'h': case '?': s->help = true; break;
	case ' ': *again = true; break;
	case 'd': ask_delay(s); break;
	case 's':
		s->t->sort = (s->t->sort + 1) % TY_SORTS;
		ty_top_sort(s->t);
		break;
	case KEY_UP: scroll_to(s, top - 1); break;
	case KEY_DOWN: scroll_to(s, top + 1); break;
	case KEY_PPAGE: scroll_to(s, top - page); break;
	case KEY_NPAGE: scroll_to(s, top + page); break;
	case KEY_HOME: scroll_to(s, 0); break;
	case KEY_END: scroll_to(s, INT64_MAX); break;
	default: break;
	}
	return true;
}

static int loop(struct screen *s, uint64_t frames, char *err)
{
	struct ty_top *t = s->t;
	for (uint64_t n = 0; (!frames || n < frames) && !stopped; n++) {
		uint64_t due = ty_now() + (uint64_t)(*s->delay * 1e9);
		bool again = false;
		int e = n ? ty_top_refresh(t, err) : 0;
		if (e || t->ended)
			return e;
		scroll_to(s, (int64_t)s->top);
		while (!again && !stopped) {
			double before = *s->delay;
			show(s);
			uint64_t now = ty_now();
			if (now >= due)
				break;
			timeout((int)((due - now) / 1000000) + 1);
			int c = getch();
			if (c != ERR && !key(s, c, &again))
				return 0;
			if (*s->delay != before)
				again = true;
		}
	}
	return 0;
}

int ty_top_screen(struct ty_top *t, double *delay, uint64_t frames, char *err)
{
	struct screen s = { .t = t, .delay = delay };
	static const int ends[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction act = { .sa_handler = stop };
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin))
		return ty_err(err, -ENOTTY,
			      "this terminal is not known to curses; tarry top -b prints plain text");
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		sigaction(ends[i], &act, NULL);
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	int e = loop(&s, frames, err);
	endwin();
	return e;
}
