package delivery

import (
	"encoding/json"

	"gatewaytui/core/adapter"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// perRow is how many buttons stand side by side.
const perRow = 3

// buttonsOf is choices as the journal keeps them; empty for none.
func buttonsOf(choices []session.Choice) string {
	if len(choices) == 0 {
		return ""
	}
	var rows [][]adapter.Button
	for i, c := range choices {
		if i%perRow == 0 {
			rows = append(rows, nil)
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], adapter.Button(c))
	}
	text, _ := json.Marshal(rows) // strings: it always marshals
	return string(text)
}

// buttons reads the buttons of a message. The text says the same in words, so that one goes out without them if they cannot be read.
func (o *Outbox) buttons(row *store.Outbox) (rows [][]adapter.Button) {
	if err := json.Unmarshal([]byte(row.Buttons), &rows); err != nil {
		o.o.Log.Warn("buttons of a message not read", "session", row.Session, "error", term.Clean(err.Error(), 300))
		return nil
	}
	return rows
}
