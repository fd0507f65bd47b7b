package botapitest

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // what is a photo
	_ "image/png"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf16"
)

// The limits of Telegram for the files of a bot, in bytes, and of the text next to one, in UTF-16 units
// (https://core.telegram.org/bots/api#sending-files).
const (
	maxDownload = 20 << 20
	maxPhoto    = 10 << 20
	maxDocument = 50 << 20
	maxCaption  = 1024
	// maxSides and maxRatio bound the sides of a photo, in pixels.
	maxSides = 10000
	maxRatio = 20
)

// The kinds of files that a bot sends.
const (
	photo    = "photo"
	document = "document"
)

// file is a file that Telegram has. Its id is its place in Server.files.
type file struct {
	id                  int
	name, kind, content string
	// size is in bytes; more than content has where a test only says that it is large.
	size int
}

// put keeps a file; the lock is held.
func (s *Server) put(name, kind, content string) file {
	f := file{id: len(s.files), name: name, kind: kind, content: content, size: len(content)}
	s.files = append(s.files, f)
	return f
}

// ref is the file_id, unique the file_unique_id, path the file_path.
func (f file) ref() string    { return fmt.Sprintf("AgACAgQAAxkBAA%06d", f.id) }
func (f file) unique() string { return fmt.Sprintf("AQAD%06d", f.id) }
func (f file) path() string   { return fmt.Sprintf("documents/file_%d%s", f.id, path.Ext(f.name)) }

// described is the Document object, which has the fields of Audio, Video, Animation and Voice that bots read.
func (f file) described() map[string]any {
	out := map[string]any{"file_id": f.ref(), "file_unique_id": f.unique(), "file_size": f.size}
	if f.name != "" {
		out["file_name"] = f.name
	}
	if f.kind != "" {
		out["mime_type"] = f.kind
	}
	return out
}

// sizes is the list of PhotoSize objects: a small one that cannot be fetched, and the picture.
func (f file) sizes() []map[string]any {
	size := func(ref string, side, bytes int) map[string]any {
		return map[string]any{"file_id": ref, "file_unique_id": f.unique(), "width": side, "height": side, "file_size": bytes}
	}
	return []map[string]any{size(f.ref()+"small", 90, 10), size(f.ref(), 1280, f.size)}
}

// Document is a file as a field of Update.Message: document, audio, video, animation, voice, video_note, sticker.
func (s *Server) Document(name, kind, content string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(name, kind, content).described()
}

// Large is a Document of so many bytes, of which there are none.
func (s *Server) Large(name string, size int) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.put(name, "", "")
	f.size = size
	s.files[f.id] = f
	return f.described()
}

// Photo is a picture as the field photo of Update.Message.
func (s *Server) Photo(content string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put("", "", content).sizes()
}

func (s *Server) getFile(w http.ResponseWriter, args map[string]string) {
	s.mu.Lock()
	var found *file
	for i := range s.files {
		if s.files[i].ref() == args["file_id"] {
			found = &s.files[i]
		}
	}
	s.mu.Unlock()
	switch {
	case found == nil:
		refuse(w, "wrong file_id or the file is temporarily unavailable")
	case found.size > maxDownload:
		refuse(w, "file is too big")
	default:
		answer(w, map[string]any{"file_id": found.ref(), "file_unique_id": found.unique(), "file_size": found.size, "file_path": found.path()})
	}
}

func (s *Server) download(w http.ResponseWriter, path string) {
	s.mu.Lock()
	var found *file
	for i := range s.files {
		if s.files[i].path() == path {
			found = &s.files[i]
		}
	}
	s.mu.Unlock()
	if found == nil {
		fail(w, Fault{Code: 404})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.WriteString(w, found.content) // the client may have gone
}

// sendFile keeps a message with a file: one of the form under the name of its kind, or under the name that attach://NAME says.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, args map[string]string, kind string) {
	m := Sent{Kind: kind, Text: args["caption"]}
	if len(utf16.Encode([]rune(m.Text))) > maxCaption {
		refuse(w, "message caption is too long")
		return
	}
	field := kind
	if name, attached := strings.CutPrefix(args[kind], "attach://"); attached {
		field = name
	}
	part, header, err := r.FormFile(field)
	if err != nil {
		refuse(w, "there is no "+kind+" in the request")
		return
	}
	defer part.Close()
	content, err := io.ReadAll(part)
	if err != nil {
		refuse(w, err.Error())
		return
	}
	m.FileName, m.FileType, m.File = header.Filename, header.Header.Get("Content-Type"), string(content)
	m.FileType = cmp.Or(m.FileType, mime.TypeByExtension(path.Ext(m.FileName)))
	switch why := refused(kind, content); {
	case len(content) > maxDocument:
		fail(w, Fault{Code: 413, Description: "Request Entity Too Large"})
	case why != "":
		refuse(w, why)
	default:
		s.keep(w, args, m)
	}
}

// refused is why Telegram takes no such file; empty: it takes it.
func refused(kind string, content []byte) string {
	if len(content) == 0 {
		return "file must be non-empty"
	}
	if kind != photo {
		return ""
	}
	if len(content) > maxPhoto {
		return fmt.Sprintf("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(content), maxPhoto)
	}
	p, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return "IMAGE_PROCESS_FAILED"
	}
	if p.Width+p.Height > maxSides || p.Width > maxRatio*p.Height || p.Height > maxRatio*p.Width {
		return "PHOTO_INVALID_DIMENSIONS"
	}
	return ""
}
