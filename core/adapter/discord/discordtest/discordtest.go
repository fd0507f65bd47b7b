// Package discordtest is a Discord for tests: the REST calls and the gateway that a bot needs, in one handler.
//
// It keeps every event of a session, so that a RESUME replays what its bot has not seen. It sends no heartbeat requests of its
// own. discord.js, the client that most bots use, works against it; npm_test.go has that.
package discordtest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"gatewaytui/core/adapter/faults"
)

// Ids of what the server knows.
const (
	BotID   = "900"
	BotName = "helper"
	// Guild has the channel Channel, which has the thread Thread. Any other channel is one with a single person.
	Guild, Channel, Thread = "42", "4200", "4201"
)

// Fault is how a call is answered instead. The zero value of a field leaves it out.
type Fault struct {
	Status     int
	Code       int
	RetryAfter float64 // seconds, of a 429
	Hang       bool    // no answer until the call is given up
	Times      int     // how many calls; 0 is all
	// Arrives means that the call has its effect before it fails.
	Arrives bool
}

// Message is a message of a bot as it stands in its channel now.
type Message struct {
	ID, Channel, Text, Nonce string
	Flags                    int
	Components               json.RawMessage
	Notifies                 string // whom it may notify, as the bot said it
	Answers                  string // the message that it answers
	File, FileName           string // the content and the name of a file that came with it
}

// Server is a Discord with one bot. Its methods may be called from any goroutine.
type Server struct {
	// URL is what a bot has as the base of the API.
	URL   string
	token string
	http  *httptest.Server

	mu         lock
	closed     chan struct{}
	conns      map[*websocket.Conn]bool // value: identified
	serves     sync.WaitGroup
	events     []json.RawMessage // of the session, in order: the sequence is the place, from 1
	session    string            // empty: none
	lastID     int
	sent       []Message
	calls      []string // "POST /channels/1/messages"
	faults     faults.Set[Fault]
	identifies []json.RawMessage
	beats      []string
	resumes    int
	refuse     int // the close code of the next connections; 0: none
	deaf       bool
	interval   time.Duration
	files      map[string]string
	said       map[string]fields   // the messages of people, by id
	reactions  map[string][]string // of the bot, by message
	menu       []fields
	answered   []string // what the bot answered interactions with
}

// lock is held while a frame is written to a bot, which may not read for a while. Unlike at a sync.Mutex, the time of testing/synctest
// goes on while someone waits for it.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// disallowedIntents is the close code for intents that the bot has not been given
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes).
const disallowedIntents = 4014

// New returns a server on 127.0.0.1. Its owner closes it.
func New(token string) *Server {
	s := Unstarted(token)
	s.http = httptest.NewUnstartedServer(s)
	s.URL = "http://" + s.http.Listener.Addr().String() + "/api"
	s.http.Start()
	return s
}

// Unstarted returns a server that listens nowhere, for a network of the test, on which it is 127.0.0.1:80.
func Unstarted(token string) *Server {
	return &Server{
		URL: "http://127.0.0.1:80/api", token: token, mu: make(lock, 1), conns: map[*websocket.Conn]bool{},
		interval: 41250 * time.Millisecond, closed: make(chan struct{}), lastID: 1000, files: map[string]string{}, said: map[string]fields{}, reactions: map[string][]string{}, menu: []fields{},
	}
}

// Close ends the server and every connection to it.
func (s *Server) Close() {
	s.mu.Lock()
	close(s.closed)
	s.mu.Unlock()
	s.Drop(0)
	if s.http != nil {
		s.http.Close()
	}
	s.serves.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/gateway" || r.URL.Path == "/gateway/" {
		s.gateway(w, r)
		return
	}
	if content, ok := s.file(r.URL.Path); ok {
		_, _ = w.Write([]byte(content)) // a client may leave
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v10")
	if !ok {
		fail(w, Fault{Status: http.StatusNotFound})
		return
	}
	call := r.Method + " " + path
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bot "+s.token && !strings.HasPrefix(path, "/interactions/") {
		fail(w, Fault{Status: http.StatusUnauthorized})
		return
	}
	f, faulty := s.faults.Take(call)
	var status int
	var result any
	if !faulty || f.Arrives {
		status, result = s.perform(r, path)
	}
	switch {
	case faulty && f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return
	case faulty:
		fail(w, f)
		return
	}
	if result != nil {
		w.Header().Set("Content-Type", "application/json") // discord.js reads what has it as JSON
	}
	w.WriteHeader(status)
	if result != nil {
		_ = json.NewEncoder(w).Encode(result) // the same
	}
}

type fields = map[string]any

// application is what the bot belongs to. The lock is held.
func (s *Server) application() fields {
	flags := 1 << 19 // the text of messages may be read
	if s.refuse == disallowedIntents {
		flags = 0
	}
	return fields{"id": "1", "name": "test", "flags": flags}
}

func (s *Server) perform(r *http.Request, path string) (int, any) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case path == "/gateway/bot":
		return http.StatusOK, fields{"url": s.gatewayURL(), "shards": 1, "session_start_limit": fields{
			"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1,
		}}
	case path == "/users/@me":
		return http.StatusOK, self()
	case parts[0] == "channels" && len(parts) == 2:
		return http.StatusOK, channel(parts[1])
	case parts[0] == "channels" && len(parts) == 3 && parts[2] == "messages" && r.Method == http.MethodPost:
		return s.post(r, parts[1])
	case parts[0] == "channels" && len(parts) == 4:
		return s.message(r, parts[3])
	case parts[0] == "channels" && len(parts) == 7 && parts[4] == "reactions":
		return s.react(r, parts[3], parts[5])
	case path == "/applications/@me":
		return http.StatusOK, s.application()
	case parts[0] == "applications" && r.Method == http.MethodGet:
		return http.StatusOK, s.menu
	case parts[0] == "applications" && r.Method == http.MethodPut:
		return s.setMenu(r)
	case parts[0] == "interactions":
		p := struct {
			Data struct {
				Content string `json:"content"`
			} `json:"data"`
		}{}
		_ = json.NewDecoder(r.Body).Decode(&p) // one without a text
		s.answered = append(s.answered, p.Data.Content)
	}
	return http.StatusNoContent, nil // typing, callbacks of interactions: seen in Calls
}

// message is a call about one message.
func (s *Server) message(r *http.Request, id string) (int, any) {
	i := s.place(id)
	unknown := fields{"code": 10008, "message": "Unknown Message"}
	switch {
	case r.Method == http.MethodGet && s.said[id] != nil:
		m := maps.Clone(s.said[id])
		var all []any
		for _, emoji := range s.reactions[id] {
			all = append(all, fields{"count": 1, "me": true, "emoji": fields{"id": nil, "name": emoji}})
		}
		m["reactions"] = append(all, fields{"count": 1, "me": false, "emoji": fields{"id": nil, "name": "🙂"}})
		return http.StatusOK, m
	case i < 0:
		return http.StatusNotFound, unknown
	case r.Method == http.MethodPatch:
		return s.edit(r, id)
	case r.Method == http.MethodDelete:
		s.sent = slices.Delete(s.sent, i, i+1)
		return http.StatusNoContent, nil
	}
	return http.StatusOK, s.described(s.sent[i])
}

func (s *Server) react(r *http.Request, message, emoji string) (int, any) {
	switch {
	case s.said[message] == nil && s.place(message) < 0:
		return http.StatusNotFound, fields{"code": 10008, "message": "Unknown Message"}
	case !strings.ContainsFunc(emoji, func(r rune) bool { return r > 0xff }):
		return http.StatusBadRequest, fields{"code": 10014, "message": "Unknown Emoji"}
	}
	s.reactions[message] = slices.DeleteFunc(s.reactions[message], func(e string) bool { return e == emoji })
	if r.Method == http.MethodPut {
		s.reactions[message] = append(s.reactions[message], emoji)
	}
	return http.StatusNoContent, nil
}

func (s *Server) setMenu(r *http.Request) (int, any) {
	var menu []fields
	if json.NewDecoder(r.Body).Decode(&menu) != nil {
		return http.StatusBadRequest, fields{"code": 50035, "message": "Invalid Form Body"}
	}
	for _, c := range menu {
		c["id"], c["application_id"], c["version"], c["default_member_permissions"] = s.nextID(), BotID, s.nextID(), nil
	}
	s.menu = menu
	return http.StatusOK, s.menu
}

func self() fields {
	return fields{"id": BotID, "username": BotName, "discriminator": "0", "global_name": nil, "avatar": nil, "bot": true}
}

func channel(id string) fields {
	switch id {
	case Channel:
		return fields{"id": id, "type": 0, "guild_id": Guild, "name": "general", "parent_id": "4199"}
	case Thread:
		return fields{"id": id, "type": 11, "guild_id": Guild, "name": "a thread", "parent_id": Channel}
	}
	return fields{"id": id, "type": 1, "recipients": []any{}}
}

// payload is the body of a message that a bot posts.
type payload struct {
	Content      string          `json:"content"`
	Nonce        json.RawMessage `json:"nonce"`
	EnforceNonce bool            `json:"enforce_nonce"`
	Flags        int             `json:"flags"`
	Components   json.RawMessage `json:"components"`
	Notifies     json.RawMessage `json:"allowed_mentions"`
	Answers      struct {
		ID string `json:"message_id"`
	} `json:"message_reference"`
}

func body(r *http.Request) (p payload, name, content string) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		_ = json.NewDecoder(r.Body).Decode(&p) // what is not JSON is an empty message
		return p, "", ""
	}
	if r.ParseMultipartForm(32<<20) != nil {
		return p, "", ""
	}
	_ = json.Unmarshal([]byte(r.FormValue("payload_json")), &p) // the same
	for _, headers := range r.MultipartForm.File {
		f, err := headers[0].Open()
		if err != nil {
			return p, "", ""
		}
		defer f.Close()
		text, _ := io.ReadAll(f) // it is in memory
		return p, headers[0].Filename, string(text)
	}
	return p, "", ""
}

func (s *Server) post(r *http.Request, at string) (int, any) {
	p, name, content := body(r)
	if wrong := p.wrong(); wrong != "" && name == "" {
		return http.StatusBadRequest, fields{"code": 50006, "message": wrong}
	}
	nonce := strings.Trim(string(p.Nonce), `"`)
	if p.EnforceNonce && nonce != "" {
		if i := slices.IndexFunc(s.sent, func(m Message) bool { return m.Nonce == nonce }); i >= 0 {
			return http.StatusOK, s.described(s.sent[i])
		}
	}
	m := Message{ID: s.nextID(), Channel: at, Text: p.Content, Nonce: nonce, Flags: p.Flags, Components: p.Components, Notifies: string(p.Notifies), Answers: p.Answers.ID, File: content, FileName: name}
	s.sent = append(s.sent, m)
	return http.StatusOK, s.described(m)
}

func (p payload) wrong() string {
	switch {
	case strings.TrimSpace(p.Content) == "":
		return "Cannot send an empty message"
	case len([]rune(p.Content)) > 2000:
		return "Must be 2000 or fewer in length."
	}
	return ""
}

func (s *Server) edit(r *http.Request, id string) (int, any) {
	p, _, _ := body(r)
	i := s.place(id)
	if i < 0 {
		return http.StatusNotFound, fields{"code": 10008, "message": "Unknown Message"}
	}
	if wrong := p.wrong(); wrong != "" {
		return http.StatusBadRequest, fields{"code": 50006, "message": wrong}
	}
	s.sent[i].Text, s.sent[i].Components = p.Content, p.Components
	return http.StatusOK, s.described(s.sent[i])
}

func (s *Server) place(id string) int {
	return slices.IndexFunc(s.sent, func(m Message) bool { return m.ID == id })
}

func (s *Server) described(m Message) fields {
	return fields{
		"id": m.ID, "channel_id": m.Channel, "content": m.Text, "author": self(), "type": 0, "timestamp": now(), "edited_timestamp": nil,
		"mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "embeds": []any{}, "nonce": m.Nonce, "tts": false, "pinned": false,
		"mention_everyone": false, "flags": m.Flags,
	}
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// nextID is a new id; the lock is held.
func (s *Server) nextID() string {
	s.lastID++
	return strconv.Itoa(s.lastID)
}

func fail(w http.ResponseWriter, f Fault) {
	w.Header().Set("Content-Type", "application/json")
	out := fields{"message": http.StatusText(f.Status), "code": f.Code}
	if f.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter)+1))
		w.Header().Set("X-RateLimit-Scope", "user")
		out["retry_after"], out["global"] = f.RetryAfter, false
	}
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(out) // the same
}
