package ops

import "testing"

func TestHR10_WhatAChildDoesIsSaidWithItsNumber(t *testing.T) {
	for doing, want := range map[string]string{
		"delegate: model call":   "child agent: waiting for the model",
		"delegate 2: model call": "child agent 2: waiting for the model",
		"delegate: terminal: ls": "delegate: terminal: ls",
		"delegate: look":         "delegate: look",
		"model call":             "waiting for the model",
	} {
		if got := StepWords(doing); got != want {
			t.Errorf("%q is %q, want %q", doing, got, want)
		}
	}
}
