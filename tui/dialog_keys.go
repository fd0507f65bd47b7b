package tui

import tea "github.com/charmbracelet/bubbletea"

// key is a key while a question is open.
func (q *question) key(m *model, k tea.KeyMsg) tea.Cmd {
	key := k.String()
	if key == "esc" || q.typed == nil && (key == "n" || key == "N" || key == "q") {
		return m.dismiss()
	}
	if !q.armed || !q.known {
		return q.arm(m)
	}
	switch {
	case q.tier == oneLine && (key == "y" || key == "Y"):
		return q.answers[1].do(m)
	case q.tier == oneLine:
		return m.dismiss()
	case q.move(key):
		return nil
	}
	return q.chosen(m, k)
}

// chosen is a key that answers, types, or changes what an answer would do.
func (q *question) chosen(m *model, k tea.KeyMsg) tea.Cmd {
	key := k.String()
	if key == "enter" {
		if q.typed != nil && q.focus == 0 && q.typed.text() == q.want {
			q.focus = 1 // the word is the answer
		}
		return q.answer(m, q.answers[q.focus])
	}
	if q.typed != nil && (q.focus == 0 || key != "m") {
		q.typed.key(k)
		return nil
	}
	if cmd, chosen := q.choose(m, key); chosen {
		return cmd
	}
	for _, a := range q.answers {
		if a.key == key && (a.do == nil || q.typed == nil) {
			return q.answer(m, a)
		}
	}
	return nil
}

// move moves the focus from answer to answer; false: key is for something else.
func (q *question) move(key string) bool {
	switch key {
	case "left", "shift+tab":
		q.focus = max(q.focus-1, 0)
	case "right":
		q.focus = min(q.focus+1, len(q.answers)-1)
	case "tab":
		q.focus = (q.focus + 1) % len(q.answers)
	default:
		return false
	}
	return true
}

func (q *question) answer(m *model, a answer) tea.Cmd {
	switch {
	case a.do == nil:
		return m.dismiss()
	case q.typed != nil && q.typed.text() != q.want:
		q.note = "type " + q.want + " first, then enter; esc cancels"
		return nil
	}
	return a.do(m)
}

// paste is text where a word is asked for, and nothing else.
func (q *question) paste(k tea.KeyMsg) {
	if q.typed != nil && q.armed && q.known {
		q.typed.key(k)
	}
}

func (m *model) dismiss() tea.Cmd {
	if m.ask != nil && m.ask.cmds != nil {
		m.say("Nothing was done.")
	}
	m.ask = nil
	return nil
}
