package telegram

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// What Telegram takes of buttons (https://core.telegram.org/bots/api#inlinekeyboardbutton): bytes of what comes back when one is
// pressed, buttons in a row and of a message.
const (
	maxData   = 64
	maxRow    = 8
	maxButton = 100
)

const (
	// maxLabel bounds the label of a button, in cells.
	maxLabel = 200
	// maxPress is the most bytes of the text of a button.
	maxPress = 1000
	// maxPresses bounds the texts that a Platform remembers because they do not fit into a button.
	maxPresses = 1024
	// hashed begins what comes back from a button whose text does not fit: a hash of the text follows.
	hashed = "#:"
)

// key is one button as the Bot API takes it and returns it.
type key struct {
	Label string `json:"text"`
	Data  string `json:"callback_data"`
}

// board is the buttons below a message.
type board struct {
	Rows [][]key `json:"inline_keyboard"`
}

// presses remembers the texts of buttons that do not fit into them. The zero value is ready.
type presses struct {
	mu    sync.Mutex
	texts map[string]string
	order []string // what is in texts, oldest first
}

// data is what comes back from a button with this text.
func (p *presses) data(text string) string {
	if len(text) <= maxData && !strings.HasPrefix(text, hashed) {
		return text
	}
	name := hash(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.texts == nil {
		p.texts = map[string]string{}
	}
	if _, known := p.texts[name]; !known {
		p.texts[name] = text
		if p.order = append(p.order, name); len(p.order) > maxPresses {
			delete(p.texts, p.order[0])
			p.order = p.order[1:]
		}
	}
	return name
}

func (p *presses) text(data string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.texts[data]
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hashed + hex.EncodeToString(sum[:16])
}

// board is buttons as the Bot API takes them, nil if there are none. What Telegram would refuse is left out: the text says it in
// words.
func (p *presses) board(buttons [][]adapter.Button) *board {
	var b board
	n := 0
	for _, line := range buttons {
		var row []key
		for _, one := range line {
			label := term.Clean(one.Label, maxLabel)
			if label == "" || one.Text == "" || len(one.Text) > maxPress || !utf8.ValidString(one.Text) || len(row) == maxRow || n == maxButton {
				continue
			}
			row = append(row, key{label, p.data(one.Text)})
			n++
		}
		if len(row) > 0 {
			b.Rows = append(b.Rows, row)
		}
	}
	if n == 0 {
		return nil
	}
	return &b
}

// readPress tells what a press of a button is: a message of the person who pressed it.
func readPress(raw json.RawMessage, me self) (event, error) {
	var q struct {
		ID   string  `json:"id"`
		From *person `json:"from"`
		Data string  `json:"data"`
		// On is the message that has the button. One that is too old has no text and no buttons.
		On *struct {
			message
			Board board `json:"reply_markup"`
		} `json:"message"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return event{}, err
	}
	if q.ID == "" || q.Data == "" || q.From == nil || q.From.ID == 0 || q.From.IsBot || q.On == nil || q.On.Chat.ID == 0 {
		return event{}, nil
	}
	m := q.On.message
	m.From, m.Answered = q.From, nil
	e := m.event()
	e.kind, e.press, e.pressed = readable, q.ID, q.Data
	said := q.Data
	if strings.HasPrefix(said, hashed) {
		said = "" // the label may be the text; otherwise the Platform may remember it
		for _, k := range slices.Concat(q.On.Board.Rows...) {
			if hash(k.Label) == q.Data {
				said = k.Label
			}
		}
	}
	e.message = m.inbound(e, me, said)
	e.message.Mentioned = true
	// The message is the bot's own: it is not the one that is answered, and its name is not that of the press.
	e.message.ID, e.message.Target = "", e.from.String()
	e.message.Dedupe = fmt.Sprintf("telegram:%d:press:%s", me.ID, term.Clean(q.ID, maxName))
	return e, nil
}

// acknowledge completes the press of a button and tells Telegram that it was seen. It reports whether the text of the button is known.
func (c *conn) acknowledge(e *event) (known bool) {
	if e.message.Text == "" {
		e.message.Text = c.p.presses.text(e.pressed)
	}
	params := url.Values{"callback_query_id": {e.press}}
	if known = e.message.Text != ""; !known {
		params.Set("text", "This button is too old. Please write your answer instead.")
		params.Set("show_alert", "true")
	}
	if c.notices.Quiet() {
		return known // the person sees the button wait, and the message counts all the same
	}
	err := c.api.call(c.Tasks, c.p.notice, http.MethodPost, "answerCallbackQuery", params, new(bool))
	if err != nil && !refusedBy(err) {
		c.notices.Failed(err)
	}
	return known
}
