package matrix

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

const (
	// maxRooms bounds the rooms that are remembered, and maxNames the members of each whose names are.
	maxRooms = 1024
	maxNames = 200
)

// room is who is in a room. The zero value is a room of which that is not known.
type room struct {
	members int // 0: not known
	names   map[string]string
}

// private reports whether the bot and one person are the only members.
func (r room) private() bool { return r.members > 0 && r.members <= 2 }

// rooms remembers who is in rooms, until someone comes or leaves.
type rooms struct {
	mu    sync.Mutex
	known map[string]room
	// changes counts what was forgotten, so that an answer from before is not remembered.
	changes int
}

// get is who is in the room; it asks the homeserver the first time.
func (r *rooms) get(ctx context.Context, a *api, which string) (found room, err error) {
	r.mu.Lock()
	found, known := r.known[which]
	changes := r.changes
	r.mu.Unlock()
	if known {
		return found, nil
	}
	var all struct {
		Joined map[string]struct {
			Name string `json:"display_name"`
		} `json:"joined"`
	}
	err = a.call(ctx, request{verb: http.MethodGet, path: path(v3, "rooms", which, "joined_members"), limit: a.p.call}, &all)
	_, long := errors.AsType[*tooLong](err)
	if failed, is := errors.AsType[*callError](err); long || is && failed.refused {
		err = nil // too many to be a chat with one person, or not for the bot to know
	}
	if err != nil {
		return room{}, err
	}
	found.members = len(all.Joined)
	if len(all.Joined) <= maxNames {
		found.names = map[string]string{}
		for user, m := range all.Joined {
			found.names[user] = m.Name
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes != changes {
		return found, nil
	}
	if r.known == nil || len(r.known) >= maxRooms {
		r.known = map[string]room{}
	}
	r.known[which] = found
	return found, nil
}

// forget drops what is known of a room.
func (r *rooms) forget(which string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, which)
	r.changes++
}
