package botapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

const (
	// maxData is the most bytes of callback_data (https://core.telegram.org/bots/api#inlinekeyboardbutton).
	maxData = 64
	// maxKeys is the most buttons of a message.
	maxKeys = 100
	// maxAnswer is the most characters of the answer to a press.
	maxAnswer = 200
)

// key is a button of an inline keyboard.
type key struct {
	Label string `json:"text"`
	Data  string `json:"callback_data"`
}

// keyboard checks an inline keyboard and returns its JSON; empty: none.
func keyboard(markup string) (string, error) {
	if markup == "" {
		return "", nil
	}
	var board struct {
		Rows [][]key `json:"inline_keyboard"`
	}
	if err := json.Unmarshal([]byte(markup), &board); err != nil {
		return "", errors.New("can't parse reply keyboard markup JSON object")
	}
	keys := slices.Concat(board.Rows...)
	for _, k := range keys {
		switch {
		case k.Label == "":
			return "", errors.New("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
		case k.Data == "" || len(k.Data) > maxData:
			return "", errors.New("BUTTON_DATA_INVALID")
		}
	}
	switch {
	case len(keys) > maxKeys:
		return "", errors.New("reply markup is too long")
	case len(keys) == 0:
		return "", nil
	}
	return markup, nil
}

// Answer is what the bot answered a press with.
type Answer struct {
	Text  string
	Alert bool
}

// Answers are the answers to presses, in order.
func (s *Server) Answers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Press has a person press the button with this label below the last message of the bot in the chat that has one, and reports
// whether there was such a button. chat 0 is the person's private chat.
func (s *Server) Press(user, chat int64, label string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if chat == 0 {
		chat = user
	}
	for _, m := range slices.Backward(s.sent) {
		if m.ChatID != chat || m.removed || m.Buttons == "" {
			continue
		}
		var board struct {
			Rows [][]key `json:"inline_keyboard"`
		}
		if json.Unmarshal([]byte(m.Buttons), &board) != nil {
			return false
		}
		for _, k := range slices.Concat(board.Rows...) {
			if k.Label == label {
				s.press(user, m, k.Data)
				return true
			}
		}
	}
	return false
}

// press queues a callback query; the lock is held.
func (s *Server) press(user int64, m *message, data string) {
	update := s.nextID
	s.nextID++
	id := fmt.Sprintf("77%d", update)
	s.presses[id] = true
	s.queue(update, "callback_query", map[string]any{
		"id": id, "chat_instance": "1", "data": data, "message": m.described(),
		"from": map[string]any{"id": user, "is_bot": false, "first_name": "User"},
	})
}

func (s *Server) answerPress(w http.ResponseWriter, args map[string]string) {
	s.mu.Lock()
	known := s.presses[args["callback_query_id"]]
	if known {
		s.answers = append(s.answers, Answer{args["text"], args["show_alert"] == "true"})
		s.change()
	}
	s.mu.Unlock()
	switch {
	case !known:
		refuse(w, "query is too old and response timeout expired or query ID is invalid")
	case len([]rune(args["text"])) > maxAnswer:
		refuse(w, "MESSAGE_TOO_LONG")
	default:
		answer(w, true)
	}
}
