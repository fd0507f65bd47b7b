package memory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
)

// nodes is a server with the tools of @modelcontextprotocol/server-memory, as its version 2026.1 answers.
type nodes struct{ entities []entity }

func (s *nodes) Call(_ context.Context, tool string, arguments any) (string, error) {
	in, _ := json.Marshal(arguments)
	var out created
	switch tool {
	case "create_entities":
		var c created
		_ = json.Unmarshal(in, &c)
		for _, e := range c.Entities {
			if !slices.ContainsFunc(s.entities, func(o entity) bool { return o.Name == e.Name }) {
				s.entities = append(s.entities, e)
			}
		}
	case "search_nodes":
		var w wanted
		_ = json.Unmarshal(in, &w)
		for _, e := range s.entities {
			if strings.Contains(strings.ToLower(e.Name+"\n"+e.Type+"\n"+strings.Join(e.Observations, "\n")), strings.ToLower(w.Query)) {
				out.Entities = append(out.Entities, e)
			}
		}
	case "read_graph":
		out.Entities = s.entities
	case "delete_entities":
		var d deleted
		_ = json.Unmarshal(in, &d)
		s.entities = slices.DeleteFunc(s.entities, func(e entity) bool { return slices.Contains(d.Names, e.Name) })
		return "Entities deleted successfully", nil
	}
	text, _ := json.MarshalIndent(out, "", "  ")
	return string(text), nil
}

func TestHR4_AServerWithAGraphKeepsNotes(t *testing.T) {
	server := &nodes{entities: []entity{{Name: "Ada", Type: "person", Observations: []string{"of another program, about telegram:47", "x"}}}}
	m := New(Options{Log: quiet(), Tasks: tasks{}, Calls: func(string) Caller { return server }}, "notes")
	m.Open(&rows{})
	maria, otto := member("telegram:dm:47", "maria (47)"), member("telegram:dm:470", "otto (470)")
	id, err := m.save(maria, "the cat is called Mia", false)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.save(maria, "the cat is called Mia", false); err != nil || again != id {
		t.Errorf("the same text is the note %s (%v), want %s", again, err, id)
	}
	if _, err := m.save(otto, "the dog is called Rex, said person telegram:47", false); err != nil {
		t.Fatal(err)
	}
	if found, err := m.Find(t.Context(), maria, "called"); err != nil || len(found) != 1 || found[0].ID != id {
		t.Errorf("the person finds %v (%v), want her own note", found, err)
	}
	if prompt := m.Prompt(t.Context(), maria); !strings.Contains(prompt, "Mia") || strings.Contains(prompt, "Rex") || strings.Contains(prompt, "Ada") {
		t.Errorf("the prompt is %q", prompt)
	}
	if err := m.Delete(t.Context(), otto, id); err == nil {
		t.Error("another person deleted the note")
	}
	corrected, err := m.SaveNote(t.Context(), maria.call(), tool.SavedNote{ID: id, Text: "the cat is called Maya", Pin: true})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := m.Find(t.Context(), maria, ""); err != nil || len(found) != 1 || found[0].ID != corrected || !found[0].Pinned {
		t.Errorf("after the correction there are %v (%v)", found, err)
	}
	if err := m.Flush(t.Context(), unflushedRow.Session); err != nil {
		t.Fatal(err)
	}
	if n, err := m.ForgetPerson(t.Context(), "telegram:47"); err != nil || n != 2 {
		t.Errorf("forgetting the person deleted %d notes (%v), want 2: the one that was saved and the one of the flush", n, err)
	}
	if all, err := m.All(t.Context()); err != nil || len(all) != 1 || all[0].Owner != "person telegram:470" {
		t.Errorf("left are %v (%v)", all, err)
	}
	if len(server.entities) != 2 || server.entities[0].Name != "Ada" {
		t.Errorf("the server has %v, want the entity of the other program as it was", server.entities)
	}
	if err := m.DeleteAny(t.Context(), "Ada"); err == nil || ops.HasCode(err, ops.CodeInternal) {
		t.Errorf("an entity of another program was deleted as a note: %v", err)
	}
}
