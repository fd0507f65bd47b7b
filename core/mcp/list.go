package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/renameio/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

const (
	// maxTools bounds the tools of one server, and maxPages the parts in which it may send their list.
	maxTools = 2000
	maxPages = 200
	// maxName bounds the name of a tool as a model sees it, which the protocols of models demand.
	maxName = 64
	// shownName is the room for a name in a reason, in runes.
	shownName = 30
	// maxAbout and maxSchema bound a description and a schema, in bytes.
	maxAbout  = 4 << 10
	maxSchema = 32 << 10
	// maxKept bounds the file that keeps a list, in bytes.
	maxKept = 64 << 20
	// separator is between the names of a server and of its tool.
	separator = "__"
)

// listed is one tool of a server as it is offered.
type listed struct {
	// Name is the server's own name of it, Spec what a model sees.
	Name string         `json:"name"`
	Spec model.ToolSpec `json:"spec"`
	// trusted says that its calls pass no gate.
	trusted bool
}

// keptList is the file that keeps the list of a server. Mark stands for the definition that it was read with.
type keptList struct {
	Mark  string   `json:"mark"`
	Tools []listed `json:"tools"`
}

// hasList reports whether a list of tools is known.
func (s *server) hasList() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// setTools offers the tools of a list by the definition's patterns. A tool whose name is another one's is refused: which of the two a
// model means would not be known.
func (s *server) setTools(all []listed, refused []string) {
	var kept []listed
	by := map[string]string{}
	for _, t := range all {
		if !matches(s.def.Tools, t.Name) || matches(s.def.Withheld, t.Name) {
			continue
		}
		if other, taken := by[t.Spec.Name]; taken {
			refused = append(refused, fmt.Sprintf("the tools %q and %q would both be %s, so the second is not offered", term.Clean(other, shownName), term.Clean(t.Name, shownName), t.Spec.Name))
			continue
		}
		by[t.Spec.Name] = t.Name
		t.trusted = matches(s.def.Trusted, t.Name)
		kept = append(kept, t)
	}
	why := term.Clean(strings.Join(refused, "; "), maxProblem)
	s.mu.Lock()
	news := why != "" && why != s.refused
	s.tools, s.known, s.refused = kept, true, why
	s.mu.Unlock()
	if news {
		s.set.o.Log.Warn("tools of a server not offered", "event", ops.LogServer, "server", s.def.Name, "error", why)
	}
}

// matches reports whether a name is like one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return text.Glob(p, name) })
}

// read reads the list from a connection, offers it and keeps it.
func (s *server) read(ctx context.Context, l *link) error {
	tools, refused, err := fetch(ctx, l.session, s.def.Name)
	if err != nil {
		return fmt.Errorf("read its list of tools: %w", err)
	}
	s.setTools(tools, refused)
	if err := s.set.keepList(s, tools); err != nil {
		s.set.o.Log.Warn("list of tools not kept", "event", ops.LogServer, "server", s.def.Name, "error", term.Clean(err.Error(), maxProblem))
	}
	return nil
}

// refresh reads the list again after it has changed. One of them runs at a time for a connection.
func (s *server) refresh(l *link) {
	if !l.reading.CompareAndSwap(false, true) {
		nudge(l.changed) // once more, after the one under way
		return
	}
	defer l.reading.Store(false)
	ctx, cancel := context.WithTimeout(l.ctx, startMost)
	defer cancel()
	if err := s.read(ctx, l); err != nil && l.ctx.Err() == nil {
		s.set.o.Log.Warn("changed list of tools not read", "event", ops.LogServer, "server", s.def.Name, "error", s.set.why(err.Error()))
	}
}

// fetch reads all pages of the list. refused says which tools cannot be offered, and why.
func fetch(ctx context.Context, session *sdk.ClientSession, server string) (all []listed, refused []string, err error) {
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, nil, nil
	}
	params := &sdk.ListToolsParams{}
	for page := 0; ; page++ {
		result, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range result.Tools {
			if t == nil || t.Name == "" {
				refused = append(refused, "a tool without a name is not offered")
				continue
			}
			schema, err := schemaOf(t.InputSchema)
			if err != nil {
				refused = append(refused, fmt.Sprintf("the tool %s is not offered: %v", term.Quote(t.Name), err))
				continue
			}
			spec := specOf(server, t.Name)
			spec.Description, spec.Schema = about(t), schema
			all = append(all, listed{Name: t.Name, Spec: spec})
		}
		if len(all) > maxTools {
			return all[:maxTools], append(refused, fmt.Sprintf("only the first %d of its tools are offered", maxTools)), nil
		}
		if params.Cursor = result.NextCursor; params.Cursor == "" {
			return all, refused, nil
		}
		if page == maxPages {
			return all, append(refused, fmt.Sprintf("only the first %d pages of its list are read", maxPages)), nil
		}
	}
}

// specOf is a tool as a model sees it, without what it does.
func specOf(server, tool string) model.ToolSpec { return model.ToolSpec{Name: nameOf(server, tool)} }

// nameOf is the name of a tool for models: letters, digits, _ and - alone, at most maxName of them.
func nameOf(server, tool string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, server+separator+tool)
	return name[:min(len(name), maxName)]
}

// about is the description of a tool, without what a model or a terminal would act on invisibly.
func about(t *sdk.Tool) string {
	said := t.Description
	if said == "" {
		said = t.Title
	}
	return plain(said, maxAbout)
}

// plain is a text of a server for a model in at most most bytes: lines of characters that can be seen.
func plain(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// schemaOf is the schema of the arguments as a JSON object. A tool without a schema takes any object.
func schemaOf(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	object, is := v.(map[string]any)
	if !is || object["type"] == nil {
		if object == nil {
			object = map[string]any{}
		}
		object["type"] = "object"
	}
	if object["type"] == "object" && object["properties"] == nil {
		object["properties"] = map[string]any{} // some endpoints demand it
	}
	if err := enc.Encode(object); err != nil {
		return nil, err
	}
	if b.Len() > maxSchema {
		return nil, fmt.Errorf("its schema has %d bytes, at most %d", b.Len(), maxSchema)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// listPath is the file that keeps the list of a server.
func (s *Set) listPath(of *server) string {
	return filepath.Join(s.o.Folder, url.PathEscape(of.def.Name)+".json")
}

// readList reads the list that was kept, if the definition is as it was then.
func (s *Set) readList(of *server) ([]listed, error) {
	path := s.listPath(of)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKept {
		return nil, fmt.Errorf("%s is not a list of tools", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var kept keptList
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, err
	}
	if kept.Mark != of.mark {
		return nil, errors.New("the list is that of another definition")
	}
	return kept.Tools, nil
}

// keepList keeps the list of a server.
func (s *Set) keepList(of *server, tools []listed) error {
	data, err := json.Marshal(keptList{of.mark, tools})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.o.Folder, 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(s.listPath(of), data, 0o600)
}
