package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views"
)

const (
	taskSearch = "search"
	// searchTimeout bounds a search. The gateway answers within a second at a million messages.
	searchTimeout = 5 * time.Second
	// searchMost is how many messages a search shows.
	searchMost = 50
)

// searched is the answer to a search.
type searched struct {
	text  string
	found ops.Found
	err   error
}

// search looks for what was said in all conversations (CV13).
func (m *model) search(arg string) tea.Cmd {
	if arg == "" {
		m.deny("search needs a text, for example: search disk full")
		return nil
	}
	return m.tasks.cmd(taskSearch, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, searchTimeout)
		defer cancel()
		s := searched{text: arg}
		s.found, s.err = m.console.Search(ctx, ops.SearchQuery{Text: arg, Limit: searchMost, By: operator()})
		return s
	})
}

// arrive shows what was found, unless the person has opened something else meanwhile.
func (s searched) arrive(m *model) {
	switch {
	case s.err != nil:
		m.deny("search: " + s.err.Error())
	case len(s.found.Items) == 0:
		m.message, m.bad = "no message has "+s.text+unindexed(s.found), false
	case m.dialog == nil:
		note := "j k select   enter opens the conversation there   esc closes"
		if s.found.Next != "" {
			note += fmt.Sprintf("   the newest %d", len(s.found.Items))
		}
		m.dialog = &foundPage{views.Found{Text: s.text, Hits: s.found.Items, Note: note + unindexed(s.found)}}
	}
	m.stale = true
}

// unindexed says that older messages cannot be found yet.
func unindexed(f ops.Found) string {
	if f.Unindexed == 0 {
		return ""
	}
	return fmt.Sprintf("; %d older %s not in the index yet", f.Unindexed, text.Plural(int(f.Unindexed), "message is", "messages are"))
}

// foundPage is what a search found.
type foundPage struct{ views.Found }

func (p *foundPage) draw(s *views.Screen)             { s.Over = p.Found }
func (p *foundPage) help() string                     { return "" }
func (p *foundPage) closedBy(*model, occurrence) bool { return false }

func (p *foundPage) key(m *model, k tea.KeyMsg) tea.Cmd {
	const page = 5
	last := len(p.Hits) - 1
	if at, scrolls := scroll(k, p.Selected, page, last); scrolls {
		p.Selected = at
		return nil
	}
	switch k.String() {
	case "G", "end":
		p.Selected = last
	case "enter":
		h := p.Hits[p.Selected]
		m.dialog, m.sought = nil, sought{h.Session, h.Conversation, h.ID}
		cmd := m.jump(views.Sessions, h.Session)
		m.rouse() // the page may be open already, and wait
		return tea.Batch(cmd, m.showPage(views.PageTalk))
	case "esc", "q":
		m.dialog = nil
	}
	return nil
}
