package botapitest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Draft is a draft that the bot showed.
type Draft struct {
	ChatID, ThreadID, ID int64
	Text, Entities       string
	At                   time.Time
}

// Drafts are the drafts that the bot showed, in order. None of them is a message.
func (s *Server) Drafts() []Draft {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.drafts)
}

// sendDraft follows https://core.telegram.org/bots/api#sendmessagedraft.
func (s *Server) sendDraft(w http.ResponseWriter, args map[string]string) {
	chat, err := strconv.ParseInt(args["chat_id"], 10, 64)
	if err != nil || chat <= 0 {
		refuse(w, "chat not found")
		return
	}
	id, err := strconv.ParseInt(args["draft_id"], 10, 64)
	if err != nil || id == 0 {
		refuse(w, "invalid draft_id specified")
		return
	}
	if strings.TrimSpace(args["text"]) != "" && !acceptable(w, args) { // an empty text shows that the bot thinks
		return
	}
	thread, _ := strconv.ParseInt(args["message_thread_id"], 10, 64)
	s.mu.Lock()
	s.drafts = append(s.drafts, Draft{ChatID: chat, ThreadID: thread, ID: id, Text: args["text"], Entities: args["entities"], At: time.Now()})
	s.change()
	s.mu.Unlock()
	answer(w, true)
}
