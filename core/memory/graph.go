package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Caller calls tools of the server that keeps the notes.
type Caller interface {
	// Call calls a tool and returns the text of its result. It is bounded by ctx.
	Call(ctx context.Context, tool string, arguments any) (string, error)
}

// graph is the provider over a server with the tools of @modelcontextprotocol/server-memory, which keeps a graph of entities. A note is an
// entity: its name is the id, its type the owner, its first observation the text, and its second one what else there is. The server
// finds entities by a part of their type, so that each answer is read for the exact owner here.
type graph struct {
	server Caller
	find   Extractor
}

var _ Provider = graph{}

// entity is a note as the server keeps it.
type entity struct {
	Name         string   `json:"name"`
	Type         string   `json:"entityType"`
	Observations []string `json:"observations"`
}

// rest is what a note has besides its text.
type rest struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	People []string  `json:"people,omitempty"`
	Pinned bool      `json:"pinned,omitempty"`
}

// The arguments of the server's tools.
type (
	created struct {
		Entities []entity `json:"entities"`
	}
	wanted struct {
		Query string `json:"query"`
	}
	deleted struct {
		Names []string `json:"entityNames"`
	}
)

// graphID is the id of a note: the same text of the same owner is one entity.
func graphID(o Owner, text string) string {
	sum := sha256.Sum256([]byte(string(o) + "\x00" + text))
	return "m" + hex.EncodeToString(sum[:6])
}

// ask calls a tool that returns entities, and reads those that are notes.
func (g graph) ask(ctx context.Context, tool string, arguments any) (notes []Note, err error) {
	text, err := g.server.Call(ctx, tool, arguments)
	if err != nil {
		return nil, err
	}
	var answer created
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	for _, e := range answer.Entities {
		o := Owner(e.Type)
		if len(e.Observations) < 2 || o != Shared && o.Scope()+" " != ofPerson && o.Scope()+" " != ofChat {
			continue // of another program
		}
		var r rest
		if json.Unmarshal([]byte(e.Observations[1]), &r) == nil {
			notes = append(notes, Note{ID: e.Name, Owner: o, Text: tidy(e.Observations[0]), By: r.By, People: r.People, At: r.At, Pinned: r.Pinned})
		}
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return b.At.Compare(a.At) })
	return notes, nil
}

// of are the notes of these owners, newest first.
func (g graph) of(ctx context.Context, owners []Owner) (all []Note, err error) {
	for _, o := range owners {
		found, err := g.ask(ctx, "search_nodes", wanted{string(o)})
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(n Note) bool { return n.Owner != o })...)
	}
	return all, nil
}

func (g graph) Save(ctx context.Context, n Note) (Note, error) {
	has, err := g.of(ctx, []Owner{n.Owner})
	if err != nil {
		return Note{}, err
	}
	n.ID, n.At = graphID(n.Owner, n.Text), time.Now().UTC()
	if at := slices.IndexFunc(has, func(h Note) bool { return h.ID == n.ID }); at >= 0 {
		return has[at], nil
	}
	if len(has) >= MaxNotes {
		return Note{}, full(n.Owner)
	}
	about, err := json.Marshal(rest{n.By, n.At, n.People, n.Pinned})
	if err != nil {
		return Note{}, err
	}
	_, err = g.server.Call(ctx, "create_entities", created{[]entity{{n.ID, string(n.Owner), []string{n.Text, string(about)}}}})
	return n, err
}

// Correct saves the new text before it deletes the old one, so that a failure loses neither. The note has another id then.
func (g graph) Correct(ctx context.Context, owners []Owner, n Note) (Note, error) {
	has, err := g.of(ctx, owners)
	if err != nil {
		return Note{}, err
	}
	at := slices.IndexFunc(has, func(h Note) bool { return h.ID == n.ID })
	if at < 0 {
		return Note{}, ErrNoNote
	}
	old := has[at]
	made, err := g.Save(ctx, Note{Owner: old.Owner, Text: n.Text, By: n.By, People: n.People, Pinned: n.Pinned || old.Pinned})
	if err != nil || made.ID == old.ID {
		return made, err
	}
	return made, g.drop(ctx, old.ID)
}

func (g graph) drop(ctx context.Context, ids ...string) error {
	_, err := g.server.Call(ctx, "delete_entities", deleted{ids})
	return err
}

func (g graph) Forget(ctx context.Context, owners []Owner, id string) error {
	has, err := g.of(ctx, owners)
	if len(owners) == 0 {
		has, err = g.All(ctx, 0)
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(has, func(h Note) bool { return h.ID == id }) {
		return ErrNoNote
	}
	return g.drop(ctx, id)
}

// Search compares the words here: the server looks for one part of a text.
func (g graph) Search(ctx context.Context, owners []Owner, text string, limit int) ([]Note, error) {
	has, err := g.of(ctx, owners)
	if err != nil {
		return nil, err
	}
	score := map[string]int{}
	for _, w := range wantedOf(text) {
		for _, n := range has {
			if slices.ContainsFunc(wordsOf(n.Text), func(word string) bool { return word >= w[0] && word < w[1] }) {
				score[n.ID]++
			}
		}
	}
	has = slices.DeleteFunc(has, func(n Note) bool { return score[n.ID] == 0 })
	slices.SortStableFunc(has, func(a, b Note) int { return score[b.ID] - score[a.ID] })
	return has[:min(len(has), limit)], nil
}

func (g graph) First(ctx context.Context, owners []Owner, limit int) ([]Note, error) {
	has, err := g.of(ctx, owners)
	slices.SortStableFunc(has, func(a, b Note) int {
		switch {
		case a.Pinned == b.Pinned:
			return b.At.Compare(a.At)
		case a.Pinned:
			return -1
		}
		return 1
	})
	return has[:min(len(has), limit)], err
}

// All are all notes; 0: without a limit.
func (g graph) All(ctx context.Context, limit int) ([]Note, error) {
	has, err := g.ask(ctx, "read_graph", struct{}{})
	if limit > 0 {
		has = has[:min(len(has), limit)]
	}
	return has, err
}

func (g graph) Flush(ctx context.Context, m Material) error { return glean(ctx, g, g.find, m) }

// Shutdown has nothing to end: the server is held by package mcp.
func (graph) Shutdown(context.Context, string) error { return nil }

func (g graph) ForgetPerson(ctx context.Context, person string) (int, error) {
	has, err := g.All(ctx, 0)
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, n := range has {
		if n.Owner == Owner(ofPerson+person) || slices.Contains(n.People, person) {
			ids = append(ids, n.ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return len(ids), g.drop(ctx, ids...)
}
