package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"gatewaytui/core/term"
)

// wireModels is the answer of /models. Endpoints name the window in different ways.
type wireModels struct {
	Data []struct {
		ID            string `json:"id"`
		ContextLength int    `json:"context_length"`        // OpenRouter, Together
		ContextWindow int    `json:"context_window"`        // Groq
		MaxModelLen   int    `json:"max_model_len"`         // vLLM
		Loaded        int    `json:"loaded_context_length"` // LM Studio
	} `json:"data"`
}

// maxModels bounds the answer of /models, in bytes, and maxListed how many of its models List returns.
const (
	maxModels = 4 << 20
	maxListed = 1000
)

// List asks an OpenAI-compatible endpoint for the names of its models, sorted. o.Model does not count. The call ends with ctx. The
// error says what the endpoint answered, without the key; names and error are safe to show.
func List(ctx context.Context, o OpenAIOptions) ([]string, error) {
	o.Model = "any"
	provider, err := NewOpenAI(o)
	if err != nil {
		return nil, err
	}
	p := provider.(*openAI)
	defer p.http.CloseIdleConnections()
	list, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list.Data {
		if name := term.Clean(m.ID, 200); name != "" && name == m.ID {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxListed)], nil
}

// list makes one GET of /models.
func (p *openAI) list(ctx context.Context) (list wireModels, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at+"/models", nil)
	if err != nil {
		return list, err
	}
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.http.Do(r)
	if err != nil {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err
		}
		return list, fmt.Errorf("ask %s for its models: %s", p.at, clean(err.Error(), p.key))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return list, &ListError{At: p.at, Status: resp.StatusCode}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxModels)).Decode(&list); err != nil {
		return list, fmt.Errorf("ask %s for its models: the answer is not a list of models", p.at)
	}
	return list, nil
}

// ListError is an answer to List with another HTTP status than 200.
type ListError struct {
	At     string
	Status int
}

func (e *ListError) Error() string {
	return fmt.Sprintf("ask %s for its models: HTTP %d %s", e.At, e.Status, http.StatusText(e.Status))
}

// Refused reports whether the endpoint did not accept the key, or wants one.
func (e *ListError) Refused() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}
