// Package matrixtest is a Matrix homeserver for tests: the calls of the client-server API that a bot needs, in one handler.
//
// It has one bot; people speak through the methods of Server. It keeps every event of every room, in one order, so that a /sync goes
// on where an earlier one ended. It has no encryption, no federation and no devices. matrix-js-sdk, the client that most programs
// use, works against it (npm_test.go of the platform).
package matrixtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the server knows.
const (
	BotID   = "@helper:example.org"
	BotName = "Helper"
	// Room has the bot, and everyone who speaks in it.
	Room = "!ops:example.org"
)

// Fault is how a call is answered instead. The zero value of a field leaves it out.
type Fault struct {
	Status     int
	Code       string        // the errcode
	RetryAfter time.Duration // of a 429
	Soft       bool          // soft_logout
	Hang       bool          // no answer until the call is given up
	Header     bool          // with Hang: the header of an answer comes, and no body
	Times      int           // how many calls; 0 is all
	// Arrives means that the call has its effect before it fails.
	Arrives bool
	// Body is the whole body of the answer; empty: that of an error.
	Body string
}

// Server is a homeserver with one bot. Its methods may be called from any goroutine.
type Server struct {
	// URL is what a bot has as its homeserver.
	URL   string
	token string
	http  *httptest.Server

	mu           sync.Mutex
	closed       chan struct{}
	changed      chan struct{} // closed and replaced by each change
	rooms        map[string]*room
	events       []*event // in order: a token of /sync is "s" and how many there were
	lastID       int
	transactions map[string]string // "call transaction": the event that it made
	accountData  map[string]json.RawMessage
	filters      []filter
	media        map[string]file
	calls        []string // "PUT /_matrix/client/v3/rooms/…"
	faults       map[string]*Fault
	syncs        int
	forgets      bool // tokens of /sync are not known
	old          bool // files are where they were before Matrix 1.11
}

// file is a file that was uploaded.
type file struct{ name, kind, content string }

// New returns a server on 127.0.0.1. Its owner closes it.
func New(token string) *Server {
	s := Unstarted(token)
	s.http = httptest.NewUnstartedServer(s)
	s.URL = "http://" + s.http.Listener.Addr().String()
	s.http.Start()
	return s
}

// Unstarted returns a server that listens nowhere, for a network of the test, on which it is 127.0.0.1:80.
func Unstarted(token string) *Server {
	s := &Server{
		URL: "http://127.0.0.1:80", token: token, closed: make(chan struct{}), changed: make(chan struct{}), rooms: map[string]*room{},
		transactions: map[string]string{}, accountData: map[string]json.RawMessage{}, media: map[string]file{}, faults: map[string]*Fault{},
	}
	s.rooms[Room] = &room{members: map[string]member{}}
	s.member(Room, BotID, BotName, "join", BotID)
	return s
}

// Close ends the server and every call to it.
func (s *Server) Close() {
	s.mu.Lock()
	close(s.closed)
	s.mu.Unlock()
	if s.http != nil {
		s.http.Close()
	}
}

type fields = map[string]any

// reply is the answer to a call: with a status of 0 it is 200.
type reply struct {
	status int
	code   string
	body   any
	raw    []byte // in place of body, of this type
	kind   string
}

func refuse(status int, code string) reply { return reply{status: status, code: code} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	call := r.Method + " " + r.URL.Path
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if r.URL.Path == "/_matrix/client/versions" {
		write(w, reply{body: fields{"versions": []string{"v1.1", "v1.2", "v1.3", "v1.4", "v1.5", "v1.11"}, "unstable_features": fields{}}})
		return
	}
	f, faulty := s.fault(call)
	if faulty && !f.Arrives {
		s.fail(w, r, f)
		return
	}
	switch r.Header.Get("Authorization") {
	case "Bearer " + s.token:
	case "":
		write(w, refuse(http.StatusUnauthorized, "M_MISSING_TOKEN"))
		return
	default:
		write(w, refuse(http.StatusUnauthorized, "M_UNKNOWN_TOKEN"))
		return
	}
	var out reply
	if r.URL.Path == "/_matrix/client/v3/sync" {
		out, faulty, f = s.sync(r)
	} else {
		out = s.perform(r)
	}
	if faulty {
		s.fail(w, r, f)
		return
	}
	write(w, out)
}

func write(w http.ResponseWriter, out reply) {
	if out.raw != nil {
		w.Header().Set("Content-Type", out.kind)
		_, _ = w.Write(out.raw) // a client may leave
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if out.code != "" {
		w.WriteHeader(out.status)
		out.body = fields{"errcode": out.code, "error": "refused"}
	}
	if out.body == nil {
		out.body = fields{}
	}
	_ = json.NewEncoder(w).Encode(out.body) // the same
}

// fail answers with a fault.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, f Fault) {
	if f.Hang {
		if f.Header {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush() // the same
		}
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
	if f.Body != "" {
		_, _ = io.WriteString(w, f.Body) // the same
		return
	}
	out := fields{"errcode": f.Code, "error": "the fault of a test"}
	if f.RetryAfter > 0 {
		out["retry_after_ms"] = f.RetryAfter.Milliseconds()
	}
	if f.Soft {
		out["soft_logout"] = true
	}
	_ = json.NewEncoder(w).Encode(out) // the same
}

// perform makes a call. Ids in paths are decoded.
func (s *Server) perform(r *http.Request) reply {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			return refuse(http.StatusBadRequest, "M_INVALID_PARAM")
		}
		parts = append(parts, decoded)
	}
	if len(parts) < 4 || parts[0] != "_matrix" {
		return refuse(http.StatusNotFound, "M_UNRECOGNIZED")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return refuse(http.StatusBadRequest, "M_NOT_JSON")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch area, rest := parts[1], parts[3:]; {
	case area == "media", rest[0] == "media":
		return s.files(r, parts, body)
	case r.Method != http.MethodGet && !json.Valid(body):
		return refuse(http.StatusBadRequest, "M_NOT_JSON")
	case rest[0] == "rooms" && len(rest) > 2:
		return s.inRoom(r, rest[1], rest[2], rest[3:], body)
	default:
		return s.account(r, rest, body)
	}
}

// account is a call about the bot; the lock is held.
func (s *Server) account(r *http.Request, parts []string, body []byte) reply {
	name := strings.Join(parts, "/")
	own := "user/" + BotID + "/"
	data, isData := strings.CutPrefix(name, own+"account_data/")
	id, isFilter := strings.CutPrefix(name, own+"filter/")
	switch {
	case name == "account/whoami":
		return reply{body: fields{"user_id": BotID, "device_id": "TEST"}}
	case name == "profile/"+BotID+"/displayname", name == "profile/"+BotID:
		return reply{body: fields{"displayname": BotName}}
	case name == "joined_rooms":
		rooms := []string{}
		for room, r := range s.rooms {
			if r.members[BotID].membership == "join" {
				rooms = append(rooms, room)
			}
		}
		return reply{body: fields{"joined_rooms": rooms}}
	case name == own+"filter":
		return s.keepFilter(body)
	case isFilter:
		if n, err := strconv.Atoi(id); err == nil && n < len(s.filters) {
			return reply{body: json.RawMessage(s.filters[n].text)}
		}
	case isData && r.Method == http.MethodPut:
		s.accountData[data] = body
		return reply{}
	case isData:
		if kept, is := s.accountData[data]; is {
			return reply{body: kept}
		}
	case parts[0] == "join" && len(parts) == 2:
		return s.join(parts[1])
	case parts[0] == "pushrules":
		return reply{body: fields{"global": fields{"override": []any{}, "underride": []any{}, "sender": []any{}, "room": []any{}, "content": []any{}}}}
	case name == "capabilities":
		return reply{body: fields{"capabilities": fields{}}}
	}
	return refuse(http.StatusNotFound, "M_NOT_FOUND")
}

// files is a call about files; the lock is held.
func (s *Server) files(r *http.Request, parts []string, body []byte) reply {
	at := strings.Join(parts[:len(parts)-1], "/")
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/upload"):
		uri := s.keepFile(r.URL.Query().Get("filename"), r.Header.Get("Content-Type"), string(body))
		return reply{body: fields{"content_uri": uri}}
	case strings.HasSuffix(r.URL.Path, "/media/config"), strings.HasSuffix(r.URL.Path, "/v3/config"):
		return reply{body: fields{"m.upload.size": 50 << 20}}
	case strings.HasPrefix(at, "_matrix/client/v1/media/download/") && s.old:
		return refuse(http.StatusNotFound, "M_UNRECOGNIZED")
	case strings.HasPrefix(at, "_matrix/client/v1/media/download/"), strings.HasPrefix(at, "_matrix/media/v3/download/") && s.old:
		if f, is := s.media["mxc://"+strings.Join(parts[len(parts)-2:], "/")]; is {
			return reply{raw: []byte(f.content), kind: f.kind}
		}
	}
	return refuse(http.StatusNotFound, "M_NOT_FOUND")
}

// keepFile keeps a file and returns its URI; the lock is held.
func (s *Server) keepFile(name, kind, content string) string {
	s.lastID++
	uri := "mxc://example.org/media" + strconv.Itoa(s.lastID)
	s.media[uri] = file{name, kind, content}
	return uri
}
