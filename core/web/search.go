package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"gatewaytui/core/term"
)

// Bounds of a search.
const (
	// answerMost is the longest answer of the endpoint, in bytes.
	answerMost = 2 << 20
	// snippetMost is how much is shown of the text of a result, in runes.
	snippetMost = 500
)

// Result is one result of a search.
type Result struct{ Title, URL, Snippet string }

// Query is the place of the query in the address of an endpoint.
const Query = "{query}"

// CanSearch reports whether the config has an endpoint.
func (c *Client) CanSearch() bool { return c.o.SearchURL != "" }

// Search asks the endpoint and returns at most most results. The error is for a model and has no secret.
//
// The key goes along as "Authorization: Bearer KEY" and as "X-Subscription-Token: KEY" (Brave).
func (c *Client) Search(ctx context.Context, query string, most int) ([]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(c.o.SearchURL, Query, url.QueryEscape(query)), nil)
	if err != nil {
		return nil, errors.New("web.search_url of the config is not an address")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", agent)
	if c.o.SearchKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.SearchKey)
		req.Header.Set("X-Subscription-Token", c.o.SearchKey)
	}
	resp, err := c.search.Do(req)
	if err != nil {
		return nil, reason(req.URL, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the search endpoint answered %d; its operator can look at web.search_url and web.search_key_env", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerMost+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of the search endpoint broke off: %s", term.Clean(err.Error(), 300))
	case len(data) > answerMost:
		return nil, fmt.Errorf("the answer of the search endpoint is longer than %d bytes", answerMost)
	}
	return readResults(data, most)
}

// shapes are the places of the results in the answers of endpoints: SearXNG and Tavily, Brave, Bing, SerpApi, Serper, Google, DuckDuckGo, and others.
var shapes = [][]string{
	{"results"},
	{"web", "results"},
	{"webPages", "value"},
	{"organic_results"},
	{"organic"},
	{"items"},
	{"RelatedTopics"},
	{"data"},
	{"hits"},
	{},
}

// readResults reads the answer of an endpoint: the first place of shapes that has a list.
func readResults(data []byte, most int) ([]Result, error) {
	var answer any
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, errors.New("the search endpoint did not answer JSON; web.search_url may lack a parameter such as format=json")
	}
	for _, shape := range shapes {
		at := answer
		for _, key := range shape {
			object, _ := at.(map[string]any)
			at = object[key]
		}
		list, is := at.([]any)
		if !is {
			continue
		}
		results := []Result{}
		for _, one := range list {
			if r, is := readResult(one); is && len(results) < most {
				results = append(results, r)
			}
		}
		return results, nil
	}
	return nil, errors.New("the answer of the search endpoint has no list of results in a known place, such as results or web.results")
}

// readResult reads one result, which has at least an address.
func readResult(one any) (Result, bool) {
	object, _ := one.(map[string]any)
	first := func(names ...string) string {
		for _, name := range names {
			if text, is := object[name].(string); is && text != "" {
				return text
			}
		}
		return ""
	}
	u, err := url.Parse(first("url", "link", "href", "FirstURL"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(u.String()) > hrefMost {
		return Result{}, false
	}
	_, snippet := readHTML(strings.NewReader(first("snippet", "content", "description", "text", "body", "Text")), u)
	_, title := readHTML(strings.NewReader(first("title", "name", "Text")), u)
	return Result{Title: oneLine(title, titleMost), URL: u.String(), Snippet: oneLine(snippet, snippetMost)}, true
}
