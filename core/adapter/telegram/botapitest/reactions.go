package botapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// place is a message in a chat, both as a call names them.
type place struct{ chat, message string }

// signs are the emoji that a bot may react with (https://core.telegram.org/bots/api#reactiontypeemoji).
var signs = []string{
	"❤", "👍", "👎", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏", "👌", "🕊", "🤡", "🥱", "🥴", "😍",
	"🐳", "❤‍🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔", "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻",
	"👨‍💻", "👀", "🎃", "🙈", "😇", "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘",
	"💊", "🙊", "😎", "👾", "🤷‍♂", "🤷", "🤷‍♀", "😡",
}

// Reaction is the bot's reaction to a message; empty: none.
func (s *Server) Reaction(chat, message int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reactions[place{strconv.FormatInt(chat, 10), strconv.FormatInt(message, 10)}]
}

func (s *Server) react(w http.ResponseWriter, args map[string]string) {
	var all []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if list := args["reaction"]; list != "" && json.Unmarshal([]byte(list), &all) != nil {
		refuse(w, "can't parse reaction types JSON object")
		return
	}
	at := place{args["chat_id"], args["message_id"]}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, mine := s.named(args)
	switch {
	case mine == nil && !s.heard[at]:
		refuse(w, "message to react not found")
		return
	case len(all) > 1:
		refuse(w, "REACTIONS_TOO_MANY")
		return
	case len(all) == 1 && (all[0].Type != "emoji" || !slices.Contains(signs, all[0].Emoji)):
		refuse(w, "REACTION_INVALID")
		return
	case len(all) == 1:
		s.reactions[at] = all[0].Emoji
	default:
		delete(s.reactions, at)
	}
	s.change()
	answer(w, true)
}
