package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// children answers tasks.
type children func(tasks []Task) []Outcome

func (c children) Delegate(_ context.Context, tasks []Task) []Outcome { return c(tasks) }

func TestHR10_WhatDelegateTakes(t *testing.T) {
	many := `{"tasks":[` + strings.Repeat(`{"goal":"g"},`, 16) + `{"goal":"g"}]}`
	for _, tt := range []struct{ name, arguments, want string }{
		{"one goal is answered with its text", `{"goal":"a"}`, "a done"},
		{"tasks are answered in their order", `{"tasks":[{"goal":"a"},{"goal":"b","tools":[]}]}`, `{"results":[{"task":1,"state":"done","result":"a done"},{"task":2,"state":"done","result":"b done"}]}`},
		{"one task is a list of one", `{"tasks":[{"goal":"a"}]}`, `{"results":[{"task":1,"state":"done","result":"a done"}]}`},
		{"a goal with tasks is refused", `{"goal":"a","tasks":[{"goal":"b"}]}`, `{"error":"give either goal, with context and tools, or tasks; each task has its own goal, context and tools"}`},
		{"each task needs a goal", `{"tasks":[{"goal":"a"},{"context":"b"}]}`, `{"error":"task 2: argument \"goal\" is required"}`},
		{"an empty list is no task", `{"tasks":[]}`, `{"error":"argument \"goal\" is required"}`},
		{"more than 16 are refused", many, `{"error":"17 tasks are too many: one call takes at most 16; give the rest in a further call"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewSet(4096, Delegate{4096}).Run(t.Context(), "delegate", Call{
				Arguments: json.RawMessage(tt.arguments), Progress: func(string) {},
				Delegate: children(func(tasks []Task) (out []Outcome) {
					for _, task := range tasks {
						out = append(out, Outcome{Text: task.Goal + " done"})
					}
					return out
				}),
			})
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// HR10: long results share the room for a result, so that each keeps its beginning and its end, and all are valid JSON.
func TestHR10_LongResultsShareTheRoom(t *testing.T) {
	outcomes := make([]Outcome, maxTasks)
	for i := range outcomes {
		outcomes[i].Text = "BEGIN" + strings.Repeat("\"\n€", 4000) + "END"
	}
	outcomes[3] = Outcome{Err: errors.New(strings.Repeat("e", 5000))}
	for _, limit := range []int{8 << 10, 64 << 10} {
		text := joined(limit, outcomes)
		var got struct {
			Results []taskResult `json:"results"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(text) > limit || len(text) < limit/2 {
			t.Fatalf("%d bytes of at most %d, %v", len(text), limit, err)
		}
		for i, r := range got.Results {
			if i == 3 && (r.State != "failed" || r.Error == "") || i != 3 && (!strings.HasPrefix(r.Result, "BEGIN") || !strings.HasSuffix(r.Result, "END")) {
				t.Errorf("result %d is %+v", i, r)
			}
		}
	}
}
