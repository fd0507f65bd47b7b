package adapter

import (
	"encoding/json"
	"fmt"
)

// maxKeptFiles is how many files of one message are remembered. No platform has messages with as many.
const maxKeptFiles = 100

// EncodeFiles is the files of a message as text, for the inbox; empty for none.
func EncodeFiles(files []File) string {
	if len(files) == 0 {
		return ""
	}
	text, err := json.Marshal(files[:min(len(files), maxKeptFiles)])
	if err != nil {
		panic(err) // a struct of plain fields
	}
	return string(text)
}

// DecodeFiles reads what EncodeFiles made.
func DecodeFiles(text string) (files []File, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &files); err != nil {
		return nil, fmt.Errorf("read the files of a message: %w", err)
	}
	return files, nil
}
