// Package botapitest is a Telegram Bot API server for tests, as net/http/httptest is for HTTP: it hands out updates that
// a test injects, keeps the messages that a bot sends, and fails in the ways in which the real one and the network do.
//
// It speaks the part of https://core.telegram.org/bots/api that a bot in chats needs: getMe, getUpdates with its offset, limit,
// timeout and allowed_updates, sendMessage, sendPhoto, sendDocument, editMessageText, deleteMessage, setMessageReaction,
// answerCallbackQuery, sendChatAction, getFile and the download, getMyCommands, setMyCommands, deleteWebhook. New listens on
// 127.0.0.1; Unstarted listens nowhere, for a test that serves it on another network, in virtual time for instance.
package botapitest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// BotID and BotName are who getMe says the bot is.
const (
	BotID   int64 = 4242
	BotName       = "testbot"
)

// Server is a Bot API server, an http.Handler. Its methods may be called from any goroutine.
type Server struct {
	// URL is its base, without a trailing slash; empty where it listens nowhere.
	URL string

	token string
	http  *httptest.Server

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever anything below changes
	closed  bool
	nextID  int64
	updates []map[string]any // not confirmed, in order
	sent    []*message
	actions []Action
	drafts  []Draft
	calls   map[string]int
	faults  map[string]*Fault
	menu    []Command
	alone   bool // the bot may not be added to groups
	healed  int  // how often Heal was called
	webhook bool
	holding int
	polling int // the getUpdates call that may answer; an older one is cut off with 409
	// allowed are the kinds of updates that the last getUpdates asked for; empty: all.
	allowed   []string
	files     []file
	heard     map[place]bool   // the messages that were injected
	reactions map[place]string // of the bot
	presses   map[string]bool  // the ids of callback queries
	answers   []Answer
}

// New starts a server that knows one bot, by its token.
func New(token string) *Server {
	s := Unstarted(token)
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Unstarted is a server that does not listen.
func Unstarted(token string) *Server {
	return &Server{
		token: token, changed: make(chan struct{}), nextID: 1000,
		calls: map[string]int{}, faults: map[string]*Fault{},
		heard: map[place]bool{}, reactions: map[place]string{}, presses: map[string]bool{},
	}
}

// Close ends what hangs, and what New started.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.faults = map[string]*Fault{}
	s.healed++
	s.change()
	s.mu.Unlock()
	if s.http != nil {
		s.http.CloseClientConnections()
		s.http.Close()
	}
}

// change wakes who waits; the lock is held.
func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// SetWebhook makes getUpdates answer 409 until deleteWebhook is called.
func (s *Server) SetWebhook() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhook = true
}

// Calls is how many calls of method began; an empty method is all of them.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method != "" {
		return s.calls[strings.ToLower(method)]
	}
	n := 0
	for _, c := range s.calls {
		n += c
	}
	return n
}

// Await waits until ok holds of the server, which it asks whenever something changed, or returns ctx's error.
func (s *Server) Await(ctx context.Context, ok func(*Server) bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok(s) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("bot api server: %w", ctx.Err())
		}
	}
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+s.token+"/")
	path, isFile := strings.CutPrefix(r.URL.Path, "/file/bot"+s.token+"/")
	if isFile {
		method, ok = "file", true
	}
	args, err := arguments(r)
	if err != nil {
		fail(w, Fault{Code: 400, Description: "Bad Request: " + err.Error()})
		return
	}
	method = strings.ToLower(method)
	s.mu.Lock()
	s.calls[method]++
	s.change()
	s.mu.Unlock()

	f, failed := s.fault(r.Context(), method)
	switch {
	case failed && f.Code != 0:
		fail(w, f)
	case failed:
	case !ok:
		fail(w, Fault{Code: 401})
	case f.Drop:
		s.perform(httptest.NewRecorder(), r, method, args)
		panic(http.ErrAbortHandler)
	case isFile:
		s.download(w, path)
	default:
		s.perform(w, r, method, args)
	}
}

func (s *Server) perform(w http.ResponseWriter, r *http.Request, method string, args map[string]string) {
	switch method {
	case "getme":
		answer(w, map[string]any{"id": BotID, "is_bot": true, "first_name": "Test", "username": BotName, "can_join_groups": !s.isAlone(), "can_read_all_group_messages": false})
	case "getupdates":
		s.getUpdates(w, r, args)
	case "sendmessage":
		s.sendMessage(w, args)
	case "sendphoto":
		s.sendFile(w, r, args, photo)
	case "senddocument":
		s.sendFile(w, r, args, document)
	case "getfile":
		s.getFile(w, args)
	case "setmessagereaction":
		s.react(w, args)
	case "answercallbackquery":
		s.answerPress(w, args)
	case "sendmessagedraft":
		s.sendDraft(w, args)
	case "editmessagetext":
		s.editMessage(w, args)
	case "deletemessage":
		s.deleteMessage(w, args)
	case "sendchataction":
		s.sendAction(w, args)
	case "getmycommands":
		answer(w, s.Menu())
	case "setmycommands":
		s.setMenu(w, args)
	case "deletewebhook":
		s.mu.Lock()
		s.webhook = false
		s.mu.Unlock()
		answer(w, true)
	default:
		fail(w, Fault{Code: 404})
	}
}
