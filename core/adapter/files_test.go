package adapter

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCV9_TheFilesOfAMessageAreReadAsTheyWereWritten(t *testing.T) {
	file := rapid.Custom(func(t *rapid.T) File {
		return File{
			Name: rapid.String().Draw(t, "name"), Type: rapid.String().Draw(t, "type"), Size: rapid.Int64Min(0).Draw(t, "size"),
			Spoken: rapid.Bool().Draw(t, "spoken"), Ref: rapid.String().Draw(t, "ref"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(file, 0, 2*maxKeptFiles).Draw(t, "files")
		text := EncodeFiles(files)
		got, err := DecodeFiles(text)
		if want := files[:min(len(files), maxKeptFiles)]; err != nil || !slices.Equal(got, want) || (text == "") != (len(files) == 0) {
			t.Errorf("%q was read as %v, %v", text, got, err)
		}
	})
	if _, err := DecodeFiles(`{"ref":1}`); err == nil || !strings.Contains(err.Error(), "files of a message") {
		t.Errorf("a text that EncodeFiles did not make: %v", err)
	}
}
