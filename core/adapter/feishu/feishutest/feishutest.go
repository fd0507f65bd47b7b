// Package feishutest is a Feishu for tests: the REST calls and the long connection that a bot needs, in one handler.
//
// It keeps every event until a bot acknowledges it, and sends those that were not acknowledged to the next connection once that has
// sent its first ping; the real one sends them again after 15 seconds and more. It takes a card of the structure 2.0 with the parts and
// the properties that it knows, and refuses others, as the real one does. @larksuiteoapi/node-sdk, Feishu's own client, works against
// it; npm_test.go has that.
package feishutest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter/faults"
)

// Ids of what the server knows.
const (
	AppID  = "cli_0123456789abcdef"
	BotID  = "ou_bot"
	Group  = "oc_group"
	Thread = "omt_thread"
)

// Fault is how a call is answered instead. The zero value of a field leaves it out.
type Fault struct {
	Status     int
	Code       int
	RetryAfter int  // seconds, of a 429
	Hang       bool // no answer until the call is given up
	Times      int  // how many calls; 0 is all
	// Arrives means that the call has its effect before it fails.
	Arrives bool
}

// Message is a message of the bot as it stands in its chat now.
type Message struct {
	ID, To, Answers string
	InThread        bool
	Kind, UUID      string
	Content         string // as the bot wrote it
	Text            string // what a person reads
	Plain           bool   // the text is not Markdown
	Buttons         []Button
	FileName, File  string
}

// Button is a button below a message.
type Button struct {
	Label string
	Value json.RawMessage
}

// Server is a Feishu with one app. Its methods may be called from any goroutine.
type Server struct {
	// URL is what a bot has as the base of the API.
	URL    string
	secret string
	http   *httptest.Server

	mu      sync.Mutex
	closed  chan struct{}
	conns   map[*line]bool // value: it has sent a ping
	lines   int            // connections so far
	serves  sync.WaitGroup
	pending []*event // not acknowledged, in order
	lastID  int
	token   string
	tokens  int // how many were given
	sent    []Message
	calls   []string // "POST /open-apis/im/v1/messages"
	faults  faults.Set[Fault]
	refuse  *Refusal
	deaf    bool
	every   time.Duration // between two pings of a client
	pieces  int           // how many frames an event comes in

	revoked   []string          // permissions that the app does not have
	people    map[string]string // names, by id; a person who is not there may not be looked up
	chats     map[string]string // the chat of a message
	said      map[string]fields // the messages of people, as a call about one gives them
	files     map[string]file   // by key
	reactions map[string][]reaction
}

type file struct{ name, content string }

type reaction struct{ id, operator, kind, emoji string }

type fields = map[string]any

// New returns a server on 127.0.0.1. Its owner closes it.
func New(secret string) *Server {
	s := Unstarted(secret)
	s.http = httptest.NewUnstartedServer(s)
	s.URL = "http://" + s.http.Listener.Addr().String()
	s.http.Start()
	return s
}

// Unstarted returns a server that listens nowhere, for a network of the test, on which it is 127.0.0.1:80.
func Unstarted(secret string) *Server {
	return &Server{
		URL: "http://127.0.0.1:80", secret: secret, closed: make(chan struct{}), conns: map[*line]bool{},
		lastID: 1000, every: 2 * time.Minute, pieces: 1, people: map[string]string{}, chats: map[string]string{}, said: map[string]fields{},
		files: map[string]file{}, reactions: map[string][]reaction{},
	}
}

// Close ends the server and every connection to it.
func (s *Server) Close() {
	s.mu.Lock()
	close(s.closed)
	s.mu.Unlock()
	s.Drop()
	if s.http != nil {
		s.http.Close()
	}
	s.serves.Wait()
}

// answer is what a call is answered with; code is not 0 where it failed.
type answer struct {
	code int
	why  string
	data any
	// raw are fields next to the data; file is the content of a file instead of all that.
	raw  fields
	file *file
}

func refusedWith(code int, why string) answer { return answer{code: code, why: why} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/line" {
		s.connect(w, r)
		return
	}
	call := r.Method + " " + r.URL.Path
	s.mu.Lock()
	s.calls = append(s.calls, call)
	open := r.URL.Path == "/callback/ws/endpoint" || r.URL.Path == "/open-apis/auth/v3/tenant_access_token/internal"
	known := open || s.token != "" && r.Header.Get("Authorization") == "Bearer "+s.token
	s.mu.Unlock()
	f, faulty := s.faults.Take(call)
	if !known && !faulty {
		reply(w, http.StatusBadRequest, refusedWith(99991663, "Invalid access token for authorization."))
		return
	}
	var a answer
	if !faulty || f.Arrives {
		a = s.perform(r)
	}
	switch {
	case faulty && f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	case faulty:
		if f.RetryAfter > 0 {
			w.Header().Set("X-Ogw-Ratelimit-Reset", strconv.Itoa(f.RetryAfter))
		}
		reply(w, f.Status, refusedWith(f.Code, http.StatusText(f.Status)))
	case a.file != nil:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, a.file.content) // a client may leave
	case a.code != 0 && !open:
		reply(w, http.StatusBadRequest, a)
	default:
		reply(w, http.StatusOK, a)
	}
}

func reply(w http.ResponseWriter, status int, a answer) {
	out := fields{"code": a.code, "msg": a.why, "data": fields{}} // the official client wants data with an error, too
	if a.code == 0 && status == http.StatusOK {
		out["msg"] = "success"
		if a.data != nil {
			out["data"] = a.data
		}
		for name, value := range a.raw {
			out[name] = value
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // a client may leave
}

func (s *Server) perform(r *http.Request) answer {
	body := struct {
		AppID, AppSecret string
		ID               string `json:"app_id"`
		Key              string `json:"app_secret"`
		payload
		Reaction struct {
			Emoji string `json:"emoji_type"`
		} `json:"reaction_type"`
	}{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		_ = json.NewDecoder(r.Body).Decode(&body) // what is not JSON is an empty call
	}
	call := strings.TrimPrefix(r.URL.Path, "/open-apis")
	parts := strings.Split(strings.Trim(call, "/"), "/") // im v1 messages ID what ID
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case call == "/callback/ws/endpoint":
		return s.endpoint(body.AppID, body.AppSecret)
	case call == "/auth/v3/tenant_access_token/internal":
		if body.ID != AppID || body.Key != s.secret {
			return refusedWith(10014, "app secret invalid")
		}
		if s.token == "" {
			s.tokens++
			s.token = "t-g1." + strconv.Itoa(s.tokens)
		}
		return answer{raw: fields{"tenant_access_token": s.token, "expire": 7200}}
	case call == "/bot/v3/info":
		return answer{raw: fields{"bot": fields{"activate_status": 2, "app_name": "helper", "open_id": BotID}}}
	case strings.HasPrefix(call, "/contact/v3/users/") && len(parts) == 4:
		if name := s.people[parts[3]]; name != "" {
			return answer{data: fields{"user": fields{"open_id": parts[3], "name": name}}}
		}
		return refusedWith(99991672, "Access denied. One of the following scopes is required: [contact:user.base:readonly]")
	case call == "/application/v6/scopes":
		return answer{data: fields{"scopes": s.scopes()}}
	case call == "/im/v1/messages":
		return s.post(r.URL.Query().Get("receive_id_type"), "", body.payload)
	case call == "/im/v1/images" || call == "/im/v1/files":
		return s.upload(r)
	case len(parts) >= 4 && parts[2] == "messages":
		return s.message(r, parts[3], parts[4:], body.payload, body.Reaction.Emoji)
	}
	return refusedWith(99991404, "not found")
}

// scopes are the permissions of the app as a call about them gives them.
func (s *Server) scopes() (all []fields) {
	for _, name := range []string{
		"im:message:send_as_bot", "im:message.p2p_msg:readonly", "im:message.group_at_msg:readonly", "im:message:readonly", "im:resource",
		"im:message.reactions:write_only", "im:message.reactions:read", "contact:user.base:readonly",
	} {
		status := 1
		if slices.Contains(s.revoked, name) {
			status = 2
		}
		all = append(all, fields{"scope_name": name, "grant_status": status, "scope_type": "tenant"})
	}
	return all
}

// message is a call about one message.
func (s *Server) message(r *http.Request, id string, rest []string, p payload, emoji string) answer {
	at := s.place(id)
	mine, theirs := at >= 0, s.said[id] != nil
	if !mine && !theirs {
		return unknown(rest)
	}
	what := strings.Join(append([]string{r.Method}, rest...), " ")
	switch {
	case what == "GET" && theirs:
		return answer{data: fields{"items": []any{s.said[id]}}}
	case what == "GET":
		return answer{data: fields{"items": []any{s.sent[at].described()}}}
	case what == "POST reply":
		return s.post("chat_id", id, p)
	case what == "PATCH" && mine:
		return s.edit(at, p)
	case what == "DELETE" && mine:
		s.sent = append(s.sent[:at], s.sent[at+1:]...)
		return answer{}
	case len(rest) > 0 && rest[0] == "reactions":
		return s.react(r.Method, id, rest[1:], emoji)
	case r.Method == http.MethodGet && len(rest) == 2 && rest[0] == "resources":
		return s.resource(rest[1])
	}
	return refusedWith(230001, "Your request contains an invalid request parameter")
}

// unknown is the answer to a call about a message that there is not.
func unknown(rest []string) answer {
	if len(rest) > 0 && rest[0] == "reactions" {
		return refusedWith(231003, "The message is not found")
	}
	return refusedWith(230011, "The message was withdrawn.")
}

func (s *Server) resource(key string) answer {
	if f, is := s.files[key]; is {
		return answer{file: &f}
	}
	return refusedWith(234003, "File not in msg.")
}

func (s *Server) react(verb, message string, rest []string, emoji string) answer {
	all := s.reactions[message]
	switch {
	case verb == http.MethodGet:
		items := []any{}
		for _, one := range all {
			items = append(items, fields{"reaction_id": one.id, "operator": fields{"operator_id": one.operator, "operator_type": one.kind}, "reaction_type": fields{"emoji_type": one.emoji}})
		}
		return answer{data: fields{"items": items, "has_more": false, "page_token": ""}}
	case verb == http.MethodPost:
		if emoji == "" {
			return refusedWith(231001, "reaction type is invalid.")
		}
		id := "ZCaCIjUBVVWSrm5L-" + s.nextID()
		s.reactions[message] = append(all, reaction{id, AppID, "app", emoji})
		return answer{data: fields{"reaction_id": id}}
	}
	for i, one := range all {
		if len(rest) == 1 && one.id == rest[0] && one.operator == AppID {
			s.reactions[message] = append(all[:i:i], all[i+1:]...)
			return answer{}
		}
	}
	return refusedWith(231002, "The operator has no permission to delete the reaction.")
}

func (s *Server) upload(r *http.Request) answer {
	wrong := refusedWith(234001, "Invalid request param.")
	if r.ParseMultipartForm(64<<20) != nil {
		return wrong
	}
	field := path.Base(r.URL.Path)
	field = strings.TrimSuffix(field, "s")                        // image or file
	content, name := r.FormValue(field), r.FormValue("file_name") // the official client gives the content no name
	for _, header := range r.MultipartForm.File[field] {
		f, err := header.Open()
		if err != nil {
			return wrong
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err != nil {
			return wrong
		}
		content, name = string(text), cmp.Or(name, header.Filename)
	}
	switch {
	case content == "":
		return refusedWith(234010, "File's size can't be 0.")
	case field == "image" && r.FormValue("image_type") != "message" || field == "file" && (r.FormValue("file_name") == "" || r.FormValue("file_type") == ""):
		return wrong
	}
	key := field + "_v2_" + s.nextID()
	s.files[key] = file{name, content}
	return answer{data: fields{field + "_key": key}}
}

// nextID is a new id; the lock is held.
func (s *Server) nextID() string {
	s.lastID++
	return strconv.Itoa(s.lastID)
}
