package logs

import (
	"bytes"
	"encoding/json"
	"log"
	"log/slog"
	"testing"
)

func TestTF44_WhatALibraryPrintsIsOneStructuredLine(t *testing.T) {
	for name, text := range map[string]string{
		"a line":                  "Unsolicited response received on idle HTTP channel starting with \"x\"; err=<nil>",
		"a line with a line feed": "one\ntwo",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			restore := Capture(slog.New(slog.NewJSONHandler(&out, nil)))
			log.Print(text)
			restore()
			var line struct{ Level, Msg, Text string }
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("%q is not one line of JSON: %v", out.String(), err)
			}
			if line.Level != "WARN" || line.Msg != "library.log" || line.Text != text {
				t.Errorf("logged %+v, want the text %q", line, text)
			}
		})
	}
}
