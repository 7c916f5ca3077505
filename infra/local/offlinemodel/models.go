package offlinemodel

import (
	"net/http"
	"strings"
)

// model describes a model as the service lists it.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// modelPath is before a model's id.
const modelPath = "/v1/models/"

// modelCreated is 2026-01-01, so that the list is the same on every day.
const modelCreated = 1767225600

var offline = model{ID: ModelID, Object: "model", Created: modelCreated, OwnedBy: "throughline"}

func (s *server) listModels(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []model{offline}})
}

func (s *server) getModel(w http.ResponseWriter, r *http.Request) error {
	id := strings.TrimPrefix(r.URL.Path, modelPath)
	if id == ModelID {
		return writeJSON(w, http.StatusOK, offline)
	}
	missing := badRequest("model", "The model '%s' does not exist; there is only '%s'.", id, ModelID)
	missing.status, missing.Code = http.StatusNotFound, "model_not_found"
	return missing
}
