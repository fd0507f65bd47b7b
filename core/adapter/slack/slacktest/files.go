package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

func (s *Server) complete(in url.Values) fields {
	var files []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(in.Get("files")), &files) != nil || len(files) == 0 {
		return wrong("invalid_arguments")
	}
	described := []any{}
	for _, f := range files {
		file, ok := s.files[f.ID]
		if !ok || file.content == "" {
			return wrong("file_not_found")
		}
		s.sent = append(s.sent, Message{
			ID: s.stamp(), Channel: in.Get("channel_id"), Thread: in.Get("thread_ts"), File: file.content, FileName: file.name, Fallback: in.Get("initial_comment"),
			Text: strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(in.Get("initial_comment")),
		})
		described = append(described, fields{"id": f.ID, "title": f.Title})
	}
	return fields{"ok": true, "files": described}
}

// file is how Slack describes a file.
func (s *Server) file(id string, f upload) fields {
	at := strings.TrimSuffix(s.URL, "/api") + "/files/" + id + "/" + url.PathEscape(f.name)
	return fields{"id": id, "name": f.name, "title": f.name, "mimetype": "text/plain", "size": len(f.content), "mode": "hosted", "url_private": at, "url_private_download": at}
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files/"), "/")
	s.mu.Lock()
	f, ok := s.files[id]
	s.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.botToken: // Slack sends people to a login
		http.Redirect(w, r, "/login", http.StatusFound)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = io.WriteString(w, f.content) // a client may leave
	}
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/upload/")
	f, faulty := s.fault("upload")
	if faulty {
		s.fail(w, r, f)
		return
	}
	var content []byte
	var err error
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		err = r.ParseMultipartForm(64 << 20)
		for _, headers := range r.MultipartForm.File {
			part, openErr := headers[0].Open()
			if openErr != nil {
				continue
			}
			content, err = io.ReadAll(part)
			part.Close()
		}
	} else {
		content, err = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.files[id]
	if err != nil || !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	was.content = string(content)
	s.files[id] = was
	_, _ = fmt.Fprintf(w, "OK - %d", len(content)) // a client may leave
}
