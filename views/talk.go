package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Talk is what has been read of a conversation, for the page "talk" of a session.
type Talk struct {
	// Messages are those that were read, oldest first and without a gap. None of them is changed once it is here.
	Messages []ops.Message
	// Read says that an answer has come, Older that there are messages before the first one, and Newer that there are some behind the last.
	Read, Older, Newer bool
	// Past says that this is an earlier conversation of the session, which goes on no more.
	Past bool
	// Found is the ID of the message that a search found, which is marked; empty: none is.
	Found string
	// Drawn keeps the lines of messages from frame to frame; nil: each frame draws all.
	Drawn *Drawn
}

// Drawn keeps what was drawn of messages that do not change any more. It is not safe for concurrent use.
type Drawn struct {
	look  drawnFor
	lines map[string][]string // by the message's ID
}

// keep returns the lines of key, which it draws if it has none for this look. A nil Drawn keeps nothing.
func (d *Drawn) keep(look drawnFor, key string, draw func() []string) []string {
	if d == nil {
		return draw()
	}
	if d.look != look || d.lines == nil {
		d.look, d.lines = look, map[string][]string{}
	}
	lines, kept := d.lines[key]
	if !kept {
		lines = draw()
		d.lines[key] = lines
	}
	return lines
}

// drawnFor is what kept lines depend on besides what they show.
type drawnFor struct {
	w        int
	unfolded bool
	ascii    bool
	theme    *Theme
	agent    string
	found    string
	now      string // the zone
}

// Bounds of what is drawn of one message.
const (
	maxTalkBytes   = 64 << 10
	maxTalkLines   = 400
	maxResultLines = 40
	maxGutterLines = 8 // of long arguments
)

// PageTalk is the name of the page with the conversation of a session.
const PageTalk = "talk"

// talkPage is the conversation of a session: who, when and what, with the calls of tools folded to a line each.
var talkPage = page[ops.Session]{
	name: PageTalk, second: "timeline", ends: true, folds: true,
	lines: func(s *Screen, r *ops.Session, p pane) []string {
		lines, _ := s.talk(r, p)
		return lines
	},
}

// talkDraw draws one conversation.
type talkDraw struct {
	*Screen
	*Talk
	row  *ops.Session
	w, h int
	look drawnFor
	from int // the column in which texts begin
	who  int // cells of a name
}

// wideTalk is the width from which on time and name stand next to the text, not above it.
const wideTalk = 56

// talk is the lines of the page, and the first line of the message that was found; -1: it is not there.
func (s *Screen) talk(r *ops.Session, p pane) (lines []string, found int) {
	d := talkDraw{Screen: s, Talk: &s.Talk, row: r, w: max(p.w-1, 8), h: p.h, from: 3}
	if d.w >= wideTalk {
		d.who = 10
		d.from = 1 + 5 + 2 + d.who + 2
	}
	found = -1
	lines = d.begin()
	d.look = drawnFor{d.w, s.Detail.Unfolded, s.ASCII, s.Theme, r.Agent, d.Found, s.Now.Location().String()}
	var before time.Time
	for i := 0; i < len(d.Messages); {
		m := &d.Messages[i]
		if day := m.At.In(s.Now.Location()); !m.At.IsZero() && !sameDay(day, before) {
			if !before.IsZero() || !sameDay(day, s.Now) {
				lines = append(lines, " "+s.rule(day.Format("Mon 2 January 2006"), d.w-1))
			}
			before = day
		}
		if m.Role == "user" && i > 0 && d.h > 12 { // what belongs together stands together
			lines = append(lines, "")
		}
		if d.Found != "" && m.ID == d.Found {
			found = len(lines)
		}
		block, next := d.block(i)
		lines = append(lines, block...)
		i = next
	}
	return append(lines, d.end()...), found
}

// TalkLine is the line of the page "talk" at which the message that was found begins; -1: there is none, or the page is not open.
func TalkLine(s Screen) int {
	s.W, s.H = max(s.W, 1), max(s.H, 1)
	p, open := s.openPane()
	row := sessionList.selected(&s)
	if open != talkPage.name || row == nil || s.View != Sessions {
		return -1
	}
	_, at := s.talk(row, p)
	return at
}

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// begin says what is before the first message.
func (d *talkDraw) begin() []string {
	text := ""
	switch {
	case !d.Read && d.Detail.Errs != [2]string{}: // the wall says why
		return nil
	case !d.Read:
		text = "Reading the conversation."
	case len(d.Messages) == 0:
		text = "No message yet. w writes one."
		if d.Link.ReadOnly {
			text = "No message yet."
		}
	case d.Older:
		text = d.glyph(glyphMore) + " older messages: scroll up"
	case d.Past:
		text = "An earlier conversation of this session."
	default:
		return nil
	}
	return []string{" " + d.paint(Muted, text)}
}

// end says what the session does now, or that the page is not at the newest message.
func (d *talkDraw) end() []string {
	var lines []string
	add := func(role Role, g glyph, text string) {
		lines = append(lines, spaces(d.from)+d.paint(role, d.glyph(g)+" "+d.cut(d.clean(text, maxShown), d.w-d.from-2)))
	}
	switch {
	case !d.Read || d.Past:
	case d.Newer:
		add(Muted, glyphDown, "newer messages: scroll down")
	default:
		if last := len(d.Messages) - 1; d.row.Activity(d.Now) != "" && !d.calls(last) {
			m := sessionBadge(d.Now, d.row)
			add(m.role, m.glyph, d.row.Activity(d.Now))
		}
		if n := d.row.Queued; n > 0 {
			add(Muted, glyphIdle, count(n, "message")+" in the queue")
		}
	}
	return lines
}

// calls reports whether the messages end with a call of a tool whose result is not there.
func (d *talkDraw) calls(last int) bool {
	results := 0
	for ; last >= 0 && d.Messages[last].Role == "tool"; last-- {
		results++
	}
	return last >= 0 && len(d.Messages[last].Calls) > results
}

// block is a message with its calls and their results, and the index of the message behind them.
func (d *talkDraw) block(i int) (lines []string, next int) {
	m := &d.Messages[i]
	next = i + 1
	if m.Role != "tool" {
		for next < len(d.Messages) && d.Messages[next].Role == "tool" && d.Messages[next].Turn == m.Turn {
			next++
		}
	}
	if len(m.Calls) > next-i-1 { // a result is still to come
		return d.drawBlock(i, next), next
	}
	return d.Drawn.keep(d.look, m.ID, func() []string { return d.drawBlock(i, next) }), next
}

// drawBlock draws the message i and the results from there to next.
func (d *talkDraw) drawBlock(i, next int) []string {
	m := &d.Messages[i]
	lines := d.message(m)
	for c := range m.Calls {
		at := slices.IndexFunc(d.Messages[i+1:next], func(r ops.Message) bool { return r.Call == m.Calls[c].ID })
		if at < 0 {
			lines = append(lines, d.call(m, &m.Calls[c], nil, 0, c == next-i-1)...)
			continue
		}
		at += i + 1
		lines = append(lines, d.call(m, &m.Calls[c], &d.Messages[at], d.took(at), false)...)
	}
	if m.Role == "tool" { // its call is on an older page
		lines = append(lines, d.call(m, &ops.MessageCall{Name: m.Who}, m, d.took(i), false)...)
	}
	return d.headed(m, lines)
}

// took is from when the calls before a result were answered, or asked for, to the result: calls run one after the other. It has
// the time in which a person was asked. 0: it is not known.
func (d *talkDraw) took(i int) time.Duration {
	if i == 0 || d.Messages[i-1].Turn != d.Messages[i].Turn || d.Messages[i-1].At.IsZero() || d.Messages[i].At.IsZero() {
		return 0
	}
	return d.Messages[i].At.Sub(d.Messages[i-1].At.Time)
}

// headed puts time and name before the first of lines, or above them on a narrow screen, and all of them into their column.
func (d *talkDraw) headed(m *ops.Message, lines []string) []string {
	when, name, role := "     ", d.author(m), Heading
	if !m.At.IsZero() {
		when = m.At.In(d.Now.Location()).Format("15:04")
	}
	if m.Role == "user" {
		role = Accent
	}
	mark, marked := " ", Muted
	if m.ID == d.Found && d.Found != "" {
		mark, marked = ">", Selected
	}
	out := make([]string, 0, len(lines)+1)
	if d.who == 0 {
		out = append(out, d.paint(marked, mark+when)+" "+d.paint(role, d.cut(name, d.w-8)))
	} else {
		if len(lines) == 0 {
			lines = []string{""}
		}
		out = append(out, d.paint(marked, mark+when)+"  "+d.cell(role, name, d.who)+"  "+lines[0])
		lines = lines[1:]
	}
	for _, line := range lines {
		out = append(out, spaces(d.from)+line)
	}
	return out
}

// author is who wrote m.
func (d *talkDraw) author(m *ops.Message) string {
	switch m.Role {
	case "user":
		who, _, _ := strings.Cut(cmp.Or(m.Who, "user"), ", pid ")
		if strings.HasPrefix(who, "uid ") { // an operator on the socket
			who, _, _ = strings.Cut(who, " on ")
		}
		return d.clean(who, maxWord)
	case "tool":
		return "tool"
	case "assistant":
		return d.clean(cmp.Or(m.Who, d.row.Agent, "agent"), maxWord)
	}
	return d.clean(m.Role, maxWord)
}

// message is the text of m.
func (d *talkDraw) message(m *ops.Message) []string {
	w := d.w - d.from
	var lines []string
	switch {
	case m.Role == "tool":
		return nil
	case m.Withheld:
		text := fmt.Sprintf("%s, about %s", count(m.Length, "character"), count(m.Tokens, "token"))
		if m.Length == 0 {
			return nil
		}
		lines = []string{d.paint(Muted, d.cut(text, w))}
	case m.Role == "assistant":
		text, left := bounded(m.Text)
		lines = append(d.markdown(text, w), d.leftOut(left)...)
	default:
		text, left := bounded(m.Text)
		lines = append(d.plain(text, w), d.leftOut(left)...)
	}
	if n := len(lines) - maxTalkLines; n > 0 {
		lines = append(lines[:maxTalkLines], d.paint(Muted, fmt.Sprintf("%s %s more", d.glyph(glyphMore), count(n, "line"))))
	}
	if m.Undone {
		for i, line := range lines {
			lines[i] = d.paint(Muted, ansi.Strip(line))
		}
		lines = append(lines, d.paint(Muted, "(undone)"))
	}
	return lines
}

// bounded is the beginning of a text, and how many bytes were left out.
func bounded(text string) (string, int) {
	if len(text) <= maxTalkBytes {
		return text, 0
	}
	return strings.ToValidUTF8(text[:maxTalkBytes], ""), len(text) - maxTalkBytes
}

func (d *talkDraw) leftOut(bytes int) []string {
	if bytes == 0 {
		return nil
	}
	return []string{d.paint(Muted, d.glyph(glyphMore)+" "+size(int64(bytes))+" more; export has all of it")}
}

// plain is text that is not Markdown, such as what a person wrote: its lines stay.
func (o *Opts) plain(text string, w int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		line = o.clean(strings.ReplaceAll(term.StripSGR(strings.TrimSuffix(line, "\r")), "\t", "    "), 0)
		if line == "" {
			lines = append(lines, "")
		}
		lines = append(lines, wrap(line, w)...)
	}
	return lines
}
