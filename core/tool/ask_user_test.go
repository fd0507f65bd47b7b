package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// asker answers questions.
type asker func(q Question) (string, error)

func (a asker) Ask(_ context.Context, _ Call, q Question) (string, error) { return a(q) }

func TestAskUser_WhatItTakesAndReturns(t *testing.T) {
	for _, tt := range []struct{ name, arguments, want string }{
		{"a question is answered", `{"question":"Which?"}`, `{"answer":"Which? []"}`},
		{"options reach the person", `{"question":" Which? ","options":["a","b"]}`, `{"answer":"Which? [a b]"}`},
		{"no answer is an error", `{"question":"none"}`, `{"error":"no one answered"}`},
		{"a question is needed", `{"options":["a"]}`, `{"error":"argument \"question\" is required"}`},
		{"a question that a chat cannot show whole is refused", `{"question":"` + strings.Repeat("x", mostQuestion+1) + `"}`, `{"error":"the question has 1501 characters, at most 1500 are shown whole in a chat; ask shorter"}`},
		{"an empty option is refused", `{"question":"q","options":["a"," "]}`, `{"error":"option 2 is empty"}`},
		{"an option twice is refused", `{"question":"q","options":["a","a"]}`, `{"error":"option 2 is there twice"}`},
		{"too many options are refused", `{"question":"q","options":["a","b","c","d","e","f","g","h","i","j","k"]}`, `{"error":"11 options are too many; give at most 10, or none for a free answer"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := NewSet(0, AskUser{asker(func(q Question) (string, error) {
				if q.Text == "none" {
					return "", &WithheldError{Text: "no one answered"}
				}
				return q.Text + " [" + strings.Join(q.Options, " ") + "]", nil
			})})
			if got := set.Run(t.Context(), "ask_user", Call{Arguments: json.RawMessage(tt.arguments), Progress: func(string) {}}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := NewSet(0, AskUser{}).Run(t.Context(), "ask_user", Call{Arguments: json.RawMessage(`{"question":"q"}`)}); got != `{"error":"no person can be asked here"}` {
		t.Errorf("without people: %s", got)
	}
}
