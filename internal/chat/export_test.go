package chat

// OwnMetadata is what the message of an app's answer says beside its text.
var OwnMetadata = ownMetadata
