package conversation

import "github.com/throughline/throughline/internal/registry"

// AppContext is the registry entry of a context, RecordType the type of its summaries.
type (
	AppContext = registry.Context
	RecordType = registry.RecordType
)

// The record types of the app that ships.
const (
	ConversationSummary    RecordType = "conversation_summary"
	CoachCreatorSummary    RecordType = "coach_creator_summary"
	ProgramDesignerSummary RecordType = "program_designer_summary"
	ProgramSummary         RecordType = "program_summary"
	WorkoutSummary         RecordType = "workout_summary"
)

// RatingFields are the fields of a summary whose conversation the model rates.
var RatingFields = []string{
	"messageCount", "triggerReason", "confidence", "hasGoals", "hasProgress", "hasEmotionalState",
}

// AppContexts lists the contexts of the app, in the order in which they are listed.
func AppContexts() []AppContext { return registry.Live().Contexts }

// AppContextOf returns the registry entry of a context. For an unknown context it returns an Invalid error that names
// the known ones.
func AppContextOf(context string) (AppContext, error) { return registry.Live().Context(context) }

// LabelOf returns the label of a context, or unknown if the registry does not have the context any more.
func LabelOf(context, unknown string) string {
	s, err := AppContextOf(context)
	if err != nil {
		return unknown
	}
	return s.Label
}

// AppContextWriting returns the registry entry of the context that writes summaries of that type. For an unknown type
// it returns an Invalid error.
func AppContextWriting(t RecordType) (AppContext, error) { return registry.Live().Writing(t) }

// Contexts lists the names of the registered contexts, in registry order.
func Contexts() []string { return registry.Live().ContextNames() }
