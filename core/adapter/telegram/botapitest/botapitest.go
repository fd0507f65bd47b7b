// Package botapitest is a Telegram Bot API server for tests, as net/http/httptest is for HTTP: it hands out updates that
// a test injects, keeps the messages that a bot sends, and fails in the ways in which the real one and the network do.
//
// It speaks the part of https://core.telegram.org/bots/api that a text bot needs: getMe, getUpdates with its offset, limit
// and timeout, sendMessage, editMessageText, deleteMessage, sendChatAction, deleteWebhook. New listens on 127.0.0.1; Unstarted listens nowhere, for a test
// that serves it on another network, in virtual time for instance.
package botapitest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// BotID and BotName are who getMe says the bot is.
const (
	BotID   int64 = 4242
	BotName       = "testbot"
)

// Fault is a way to fail. Its fields combine; the zero value answers as if there were none.
type Fault struct {
	// Code is the error_code of the answer and its HTTP status, e.g. 401, 409, 429, 500.
	Code int
	// Description is the text of the error; empty: the usual one of Code.
	Description string
	// RetryAfter, in seconds, goes with 429.
	RetryAfter int
	// Delay comes before the answer.
	Delay time.Duration
	// Hang never answers and keeps the connection open, until Heal.
	Hang bool
	// Drop does what the call asks for and then drops the connection instead of answering.
	Drop bool
	// After is how many calls pass before the first that fails.
	After int
	// Times is how many calls fail before the fault is over; 0 is until Heal.
	Times int
	// Migrate, with Code 400, is the new id of a group that became a supergroup.
	Migrate int64
}

// Sent is a message that the bot sent.
type Sent struct {
	ChatID, ThreadID int64
	Text             string
	// Entities are the styles of Text as JSON; empty: none.
	Entities string
	// ReplyTo is the message that it answers; 0: none.
	ReplyTo int64
}

// Action is a chat action that the bot showed.
type Action struct {
	ChatID, ThreadID int64
	Action           string
	At               time.Time
}

// message is a message of the bot. Its id is its place in Server.sent, from 1.
type message struct {
	Sent
	removed bool
}

// Update is a text message from a user to the bot. The zero value of a field leaves it out, or is what a private chat has.
type Update struct {
	// ID is the update_id; 0 takes the next.
	ID   int64
	User int64
	// Chat is the chat's id; 0 is User's private chat. A negative one is a group.
	Chat int64
	// Thread makes it a message of a forum topic.
	Thread   int64
	UserName string
	Text     string
	// Kind is the update's kind; empty is "message".
	Kind string
	// Message replaces or adds fields of the message object, e.g. caption, is_bot users, other kinds of content.
	Message map[string]any
}

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
	sent    []message
	actions []Action
	calls   map[string]int
	faults  map[string]*Fault
	menu    []Command
	healed  int // how often Heal was called
	webhook bool
	holding int
	polling int // the getUpdates call that may answer; an older one is cut off with 409
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

// Inject queues an update and returns its id.
func (s *Server) Inject(u Update) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.ID == 0 {
		u.ID = s.nextID
	}
	s.nextID = max(s.nextID, u.ID+1)
	chat := map[string]any{"id": u.Chat, "type": "supergroup", "title": "group"}
	if u.Chat == 0 {
		chat = map[string]any{"id": u.User, "type": "private"}
	}
	m := map[string]any{
		"message_id": u.ID, "date": time.Now().Unix(), "chat": chat,
		"from": map[string]any{"id": u.User, "is_bot": false, "first_name": "User", "username": u.UserName},
	}
	if u.Text != "" {
		m["text"] = u.Text
	}
	if u.Thread != 0 {
		m["message_thread_id"], m["is_topic_message"] = u.Thread, true
	}
	maps.Copy(m, u.Message)
	s.updates = append(s.updates, map[string]any{"update_id": u.ID, cmp.Or(u.Kind, "message"): m})
	s.change()
	return u.ID
}

// Fail makes calls of method fail; an empty method is all of them.
func (s *Server) Fail(method string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[strings.ToLower(method)] = &f
	s.change()
}

// Heal ends all faults. A call that hangs then gets its answer, as it would after a network outage.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = map[string]*Fault{}
	s.healed++
	s.change()
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

// Sent are the messages of the bot as they stand in the chats now, in the order in which they were sent.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Sent
	for _, m := range s.sent {
		if !m.removed {
			out = append(out, m.Sent)
		}
	}
	return out
}

// Actions are the chat actions that the bot showed, in order.
func (s *Server) Actions() []Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.actions)
}

// Unconfirmed is how many updates a bot has not confirmed.
func (s *Server) Unconfirmed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// Holding reports whether a getUpdates is held open for want of an update.
func (s *Server) Holding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding > 0
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
	default:
		s.perform(w, r, method, args)
	}
}

func (s *Server) perform(w http.ResponseWriter, r *http.Request, method string, args map[string]string) {
	switch method {
	case "getme":
		answer(w, map[string]any{"id": BotID, "is_bot": true, "first_name": "Test", "username": BotName})
	case "getupdates":
		s.getUpdates(w, r, args)
	case "sendmessage":
		s.sendMessage(w, args)
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

// fault applies the fault that is on for method; failed says that nothing but f is to be answered, and with a Code of 0
// nothing at all. Otherwise Drop is still to be applied.
func (s *Server) fault(ctx context.Context, method string) (f Fault, failed bool) {
	s.mu.Lock()
	healed := s.healed
	p := s.faults[method]
	key := method
	if p == nil {
		p, key = s.faults[""], ""
	}
	if p == nil {
		s.mu.Unlock()
		return f, false
	}
	if p.After > 0 {
		p.After--
		s.mu.Unlock()
		return f, false
	}
	f = *p
	if p.Times > 0 {
		if p.Times--; p.Times == 0 {
			delete(s.faults, key)
		}
	}
	s.mu.Unlock()

	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
			return Fault{}, true
		}
	}
	if f.Hang {
		err := s.Await(ctx, func(s *Server) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.healed != healed
		})
		return Fault{}, err != nil
	}
	return f, f.Code != 0
}

func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, args map[string]string) {
	offset, _ := strconv.ParseInt(args["offset"], 10, 64)
	limit, _ := strconv.Atoi(args["limit"])
	if limit < 1 || limit > 100 {
		limit = 100
	}
	seconds, _ := strconv.Atoi(args["timeout"])
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()

	s.mu.Lock()
	if s.webhook {
		s.mu.Unlock()
		fail(w, Fault{Code: 409, Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
		return
	}
	s.polling++
	mine := s.polling
	s.updates = slices.DeleteFunc(s.updates, func(u map[string]any) bool { return u["update_id"].(int64) < offset })
	s.change()
	s.mu.Unlock()

	s.hold(1)
	defer s.hold(-1)
	var batch []map[string]any
	var cut bool
	_ = s.Await(ctx, func(s *Server) bool { // its error is the end of the poll, which is an answer
		s.mu.Lock()
		defer s.mu.Unlock()
		batch = slices.Clone(s.updates[:min(limit, len(s.updates))])
		cut = s.polling != mine
		return cut || s.closed || len(batch) > 0
	})
	if cut {
		fail(w, Fault{Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
		return
	}
	if batch == nil {
		batch = []map[string]any{}
	}
	answer(w, batch)
}

func (s *Server) hold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding += n
	s.change()
}

func (s *Server) sendMessage(w http.ResponseWriter, args map[string]string) {
	text := args["text"]
	chat, err := strconv.ParseInt(args["chat_id"], 10, 64)
	if err != nil {
		fail(w, Fault{Code: 400, Description: "Bad Request: chat not found"})
		return
	}
	if !acceptable(w, args) {
		return
	}
	thread, _ := strconv.ParseInt(args["message_thread_id"], 10, 64)
	s.mu.Lock()
	s.sent = append(s.sent, message{Sent: Sent{ChatID: chat, ThreadID: thread, Text: text, Entities: args["entities"], ReplyTo: answered(args)}})
	id := len(s.sent)
	s.change()
	s.mu.Unlock()
	answer(w, described(id, chat, text))
}

// answered is the message that a call answers.
func answered(args map[string]string) int64 {
	var r struct {
		ID int64 `json:"message_id"`
	}
	_ = json.Unmarshal([]byte(args["reply_parameters"]), &r) // without the parameter it is none
	return r.ID
}

// acceptable reports whether the text of a call and its entities may be those of a message, and answers if not.
func acceptable(w http.ResponseWriter, args map[string]string) bool {
	text := args["text"]
	switch {
	case strings.TrimSpace(text) == "":
		fail(w, Fault{Code: 400, Description: "Bad Request: message text is empty"})
		return false
	case len(utf16.Encode([]rune(text))) > 4096:
		fail(w, Fault{Code: 400, Description: "Bad Request: message is too long"})
		return false
	}
	if _, err := Entities(text, args["entities"]); err != nil {
		fail(w, Fault{Code: 400, Description: "Bad Request: can't parse entities: " + err.Error()})
		return false
	}
	return true
}

// described is a Message object.
func described(id int, chat int64, text string) map[string]any {
	return map[string]any{"message_id": id, "date": time.Now().Unix(), "text": text, "chat": map[string]any{"id": chat, "type": "private"}}
}

// named is the message that a call is about, nil if there is none; the lock is held.
func (s *Server) named(args map[string]string) (id int, m *message) {
	id, _ = strconv.Atoi(args["message_id"])
	if id < 1 || id > len(s.sent) {
		return id, nil
	}
	m = &s.sent[id-1]
	if m.removed || strconv.FormatInt(m.ChatID, 10) != args["chat_id"] {
		return id, nil
	}
	return id, m
}

func (s *Server) editMessage(w http.ResponseWriter, args map[string]string) {
	text := args["text"]
	if !acceptable(w, args) {
		return
	}
	s.mu.Lock()
	id, m := s.named(args)
	if m == nil {
		s.mu.Unlock()
		fail(w, Fault{Code: 400, Description: "Bad Request: message to edit not found"})
		return
	}
	chat, same := m.ChatID, m.Text == text && m.Entities == args["entities"]
	m.Text, m.Entities = text, args["entities"]
	s.change()
	s.mu.Unlock()
	if same {
		fail(w, Fault{Code: 400, Description: "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"})
		return
	}
	answer(w, described(id, chat, text))
}

func (s *Server) deleteMessage(w http.ResponseWriter, args map[string]string) {
	s.mu.Lock()
	_, m := s.named(args)
	if m != nil {
		m.removed = true
	}
	s.change()
	s.mu.Unlock()
	if m == nil {
		fail(w, Fault{Code: 400, Description: "Bad Request: message to delete not found"})
		return
	}
	answer(w, true)
}

func (s *Server) sendAction(w http.ResponseWriter, args map[string]string) {
	chat, err := strconv.ParseInt(args["chat_id"], 10, 64)
	if err != nil || args["action"] == "" {
		fail(w, Fault{Code: 400, Description: "Bad Request: wrong parameter action in request"})
		return
	}
	thread, _ := strconv.ParseInt(args["message_thread_id"], 10, 64)
	s.mu.Lock()
	s.actions = append(s.actions, Action{ChatID: chat, ThreadID: thread, Action: args["action"], At: time.Now()})
	s.change()
	s.mu.Unlock()
	answer(w, true)
}

// arguments reads a call's parameters from a JSON body, a form, or the query.
func arguments(r *http.Request) (map[string]string, error) {
	args := map[string]string{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		for k, v := range body {
			var s string
			if json.Unmarshal(v, &s) != nil {
				s = string(v)
			}
			args[k] = s
		}
		return args, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, fmt.Errorf("read the form: %w", err)
	}
	for k, v := range r.Form {
		args[k] = v[0]
	}
	return args, nil
}

func answer(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result}) // the client may have gone
}

// usual are Telegram's words where they are not those of HTTP.
var usual = map[int]string{
	403: "Forbidden: bot was blocked by the user",
	409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
	429: "Too Many Requests: retry later",
}

func fail(w http.ResponseWriter, f Fault) {
	body := map[string]any{"ok": false, "error_code": f.Code, "description": f.Description}
	if f.Description == "" {
		body["description"] = cmp.Or(usual[f.Code], http.StatusText(f.Code))
	}
	parameters := map[string]int64{}
	if f.RetryAfter > 0 {
		parameters["retry_after"] = int64(f.RetryAfter)
	}
	if f.Migrate != 0 {
		parameters["migrate_to_chat_id"] = f.Migrate
	}
	if len(parameters) > 0 {
		body["parameters"] = parameters
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
