package slack

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
	"gatewaytui/core/term"
)

// What Slack takes of buttons: buttons in a row, characters of a label and of what a press brings back
// (https://docs.slack.dev/reference/block-kit/block-elements/button-element), and rows of one message.
const (
	maxRows    = 10
	maxButtons = 25
	maxLabel   = 75
	maxPress   = 2000
	// buttonBlock begins the name of a row of the gateway's buttons.
	buttonBlock = "gatewaytui-"
)

// block is a block of a message: a rich text, or a row of buttons.
type block struct {
	Type     string `json:"type"`
	ID       string `json:"block_id,omitempty"`
	Elements any    `json:"elements"`
}

// button is one button. Press is what comes back when it is pressed.
type button struct {
	Type  string `json:"type"`
	ID    string `json:"action_id"`
	Text  label  `json:"text"`
	Press string `json:"value"`
}

type label struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// blocksOf is a message as Slack's blocks.
func blocksOf(text []markdown.Block, buttons [][]adapter.Button) []block {
	return append([]block{{Type: "rich_text", Elements: richText(text)}}, rowsOf(buttons)...)
}

// rowsOf are buttons as Slack's blocks. What Slack would refuse is left out: the text says it in words.
func rowsOf(buttons [][]adapter.Button) (rows []block) {
	var known []string
	for _, line := range buttons {
		var row []button
		for _, b := range line {
			text := term.Clean(b.Label, maxLabel)
			if text == "" || b.Text == "" || utf8.RuneCountInString(b.Text) > maxPress || len(row) == maxButtons || slices.Contains(known, b.Text) {
				continue
			}
			known = append(known, b.Text)
			row = append(row, button{Type: "button", ID: fmt.Sprintf("b%d", len(known)), Text: label{"plain_text", text}, Press: b.Text})
		}
		if len(row) > 0 && len(rows) < maxRows {
			rows = append(rows, block{Type: "actions", ID: fmt.Sprintf("%s%d", buttonBlock, len(rows)+1), Elements: row})
		}
	}
	return rows
}
