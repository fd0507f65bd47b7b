package discord

import (
	"slices"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// What Discord takes of buttons: rows, buttons in a row, characters of a label and of the name that a press has.
const (
	maxRows    = 5
	maxButtons = 5
	maxLabel   = 80
	maxPress   = 100
)

// row is a row of buttons as the API takes it, Type being 1.
type row struct {
	Type    int      `json:"type"`
	Buttons []button `json:"components"`
}

// button is one button, Type being 2. Press is what comes back when it is pressed.
type button struct {
	Type  int    `json:"type"`
	Style int    `json:"style"` // 2 is grey
	Label string `json:"label"`
	Press string `json:"custom_id"`
}

// rowsOf are buttons as the API takes them; never nil, because an empty list takes the buttons off a message. What Discord would
// refuse is left out: the text says it in words.
func rowsOf(buttons [][]adapter.Button) []row {
	rows := []row{}
	var known []string
	for _, line := range buttons {
		var r row
		for _, b := range line {
			label := term.Clean(b.Label, maxLabel)
			if label == "" || b.Text == "" || utf8.RuneCountInString(b.Text) > maxPress || len(r.Buttons) == maxButtons || slices.Contains(known, b.Text) {
				continue
			}
			known = append(known, b.Text)
			r.Buttons = append(r.Buttons, button{Type: 2, Style: 2, Label: label, Press: b.Text})
		}
		if r.Type = 1; len(r.Buttons) > 0 && len(rows) < maxRows {
			rows = append(rows, r)
		}
	}
	return rows
}
