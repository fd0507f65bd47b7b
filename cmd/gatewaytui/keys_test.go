package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"gatewaytui/tui"
)

// The page of keys is the console's own table, and each lever's twin in it is a command that there is.
func TestTheKeyPageIsTheKeymap(t *testing.T) {
	var out bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &out, err: &out, getenv: func(string) string { return "" }}
	if code := p.execute(context.Background(), []string{"help", "keys"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	for _, k := range tui.Keys() {
		if !strings.Contains(out.String(), ":"+k.Action) {
			t.Errorf(":%s is not on the page:\n%s", k.Action, out.String())
		}
		if k.Verb == "" {
			continue
		}
		if _, known := k.Verb.Spec(); !known {
			t.Errorf(":%s asks for %s, which is not a verb", k.Action, k.Verb)
		}
		root := newTree()
		if c, _, err := root.Find(strings.Fields(strings.TrimPrefix(k.Command, "gatewaytui "))); err != nil || c == root {
			t.Errorf(":%s has the command %q, which is unknown: %v", k.Action, k.Command, err)
		}
	}
}
