package media

import (
	"bytes"
	"image"
	_ "image/gif" // the pictures that models see; of image/webp only the beginning is looked at
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// kind is what becomes of a file.
type kind int

const (
	document kind = iota
	picture
	text
	speech
)

// pictures are the types that models can see.
var pictures = map[string]string{"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp"}

// kindOf says what a file is, and its media type, by its content. What the sender says of it decides only what the content
// leaves open: that a container holds speech, and the name of a type.
func kindOf(f adapter.File, content []byte) (kind, string) {
	found, _, _ := strings.Cut(http.DetectContentType(content), ";")
	said, _, _ := strings.Cut(strings.ToLower(f.Type), ";")
	said = strings.TrimSpace(term.Clean(said, 60))
	switch {
	case pictures[found] != "" && isWhole(found, content):
		return picture, found
	case isText(content):
		if !strings.HasPrefix(said, "text/") && !strings.HasPrefix(said, "application/") {
			said = "text/plain"
		}
		return text, said
	case f.Spoken, strings.HasPrefix(found, "audio/"), strings.HasPrefix(said, "audio/") && holdsSound(found):
		if !strings.HasPrefix(said, "audio/") {
			said = found
		}
		return speech, said
	case said != "" && !strings.HasPrefix(said, "image/") && isVague(found):
		return document, said
	}
	return document, found
}

// isWhole reports whether a content that begins like a picture is one: endpoints refuse a request with another.
func isWhole(found string, content []byte) bool {
	if found == "image/webp" {
		return true
	}
	_, _, err := image.DecodeConfig(bytes.NewReader(content))
	return err == nil
}

// isVague reports whether a type that was found says less than a sender could: of anything, or of a container.
func isVague(found string) bool {
	return found == "application/octet-stream" || found == "application/zip" || strings.HasPrefix(found, "text/")
}

// holdsSound reports whether a file of the type that was found may be sound.
func holdsSound(found string) bool {
	return found == "application/octet-stream" || found == "application/ogg" || found == "video/mp4" || found == "video/webm"
}

// isText reports whether a content is text that a person could have written.
func isText(content []byte) bool {
	if !utf8.Valid(content) {
		return false
	}
	for _, b := range content {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' || b == 0x7f {
			return false
		}
	}
	return true
}

// fallbackName is the name of a file of this kind whose sender gave none that can be used.
func fallbackName(k kind, mediaType string) string {
	switch k {
	case picture:
		return "picture" + pictures[mediaType]
	case text:
		return "text.txt"
	case speech:
		return "voice.ogg"
	}
	return "file"
}

// noun is what a person calls a file before its content is known.
func noun(f adapter.File) string {
	switch {
	case f.Spoken:
		return "voice message"
	case strings.HasPrefix(f.Type, "image/"):
		return "photo"
	}
	return "file"
}
