/**
 * The errors that each method documents (slack-ruby/slack-api-ref of 20 August 2026, which reads the methods' pages on
 * docs.slack.dev), and those that all of them do.
 * Rule: method-errors
 */
const common = `
  access_denied accesslimited account_inactive deprecated_endpoint ekm_access_denied enterprise_is_restricted
  fatal_error invalid_arg_name invalid_array_arg invalid_charset invalid_form_data invalid_post_type is_bot
  method_deprecated missing_post_type missing_scope no_permission not_allowed_token_type not_authed
  org_login_required ratelimited request_timeout service_unavailable team_added_to_org token_expired token_revoked
  two_factor_setup_required unknown_method`;

const own = {
  "agents.sessions.rename": `
    channel_not_found feature_disabled internal_error invalid_name is_archived name_taken not_authorized
    session_not_found thread_ts_not_allowed thread_ts_required`,
  "agents.sessions.setStatus": `
    channel_not_found feature_disabled internal_error invalid_status not_authorized thread_ts_not_allowed
    thread_ts_required user_not_found`,
  "apps.connections.open": `
    forbidden_team insecure_request internal_error invalid_auth missing_args`,
  "assistant.search.context": `
    assistant_search_context_disabled context_channel_not_found feature_not_enabled internal_error
    invalid_action_token invalid_cursor missing_query query_too_long rate_limited`,
  "assistant.threads.setStatus": `
    channel_not_found invalid_thread_ts reserved_username`,
  "assistant.threads.setSuggestedPrompts": `
    channel_not_found invalid_thread_ts message_not_found not_agent_app`,
  "assistant.threads.setTitle": `
    channel_not_found invalid_thread_ts`,
  "auth.test": `
    internal_error invalid_auth`,
  "bots.info": `
    bot_not_found bots_not_found missing_argument team_not_found`,
  "chat.appendStream": `
    as_user_not_supported channel_not_found channel_type_not_supported duplicate_channel_not_found
    duplicate_message_not_found invalid_blocks invalid_chunks invalid_metadata_format invalid_metadata_schema
    is_archived message_limit_exceeded message_not_found message_not_in_streaming_state message_not_owned_by_app
    messages_tab_disabled messaging_processing_failed metadata_must_be_sent_from_app metadata_too_large
    msg_blocks_too_long msg_blocks_too_many no_text not_in_channel rate_limited restricted_action
    restricted_action_non_threadable_channel restricted_action_read_only_channel restricted_action_thread_locked
    restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked stopped_by_user team_not_found
    too_many_attachments too_many_contact_cards`,
  "chat.delete": `
    cant_delete_message channel_not_found message_not_found`,
  "chat.postEphemeral": `
    cannot_reply_to_message channel_not_found invalid_attachments invalid_blocks invalid_blocks_format is_archived
    markdown_text_conflict message_limit_exceeded messages_tab_disabled msg_too_long no_text not_in_channel
    restricted_action too_many_attachments user_not_in_channel`,
  "chat.postMessage": `
    app_access_restricted as_user_not_supported attachment_payload_limit_exceeded cannot_reply_to_message
    channel_not_found draft_already_deleted draft_already_sent draft_has_conflict draft_not_found
    duplicate_channel_not_found duplicate_message_not_found invalid_blocks invalid_blocks_format
    invalid_metadata_format invalid_metadata_schema is_archived markdown_text_conflict message_limit_exceeded
    messages_tab_disabled metadata_must_be_sent_from_app metadata_too_large missing_file_data msg_blocks_too_long
    no_text not_in_channel rate_limited restricted_action restricted_action_non_threadable_channel
    restricted_action_read_only_channel restricted_action_thread_locked restricted_action_thread_only_channel
    send_on_behalf_not_allowed slack_connect_canvas_sharing_blocked slack_connect_file_link_sharing_blocked
    slack_connect_lists_sharing_blocked team_not_found too_many_attachments too_many_contact_cards`,
  "chat.startStream": `
    channel_not_found channel_type_not_supported duplicate_channel_not_found duplicate_message_not_found
    invalid_blocks invalid_blocks_format invalid_chunks invalid_metadata_format invalid_metadata_schema is_archived
    message_limit_exceeded messages_tab_disabled messaging_processing_failed metadata_must_be_sent_from_app
    metadata_too_large missing_recipient_team_id missing_recipient_user_id msg_blocks_too_long msg_blocks_too_many
    no_text not_in_channel not_subscribed_to_message_stream_stopped rate_limited restricted_action
    restricted_action_non_threadable_channel restricted_action_read_only_channel restricted_action_thread_locked
    restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found user_not_found`,
  "chat.stopStream": `
    as_user_not_supported attachment_payload_limit_exceeded cannot_reply_to_message channel_not_found
    channel_type_not_supported duplicate_channel_not_found duplicate_message_not_found invalid_blocks invalid_chunks
    invalid_metadata_format invalid_metadata_schema is_archived message_limit_exceeded message_not_found
    message_not_in_streaming_state message_not_owned_by_app messages_tab_disabled metadata_must_be_sent_from_app
    metadata_too_large missing_file_data msg_blocks_too_long msg_blocks_too_many no_text not_in_channel rate_limited
    restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found too_many_attachments
    too_many_contact_cards`,
  "chat.update": `
    as_user_not_supported block_mismatch blocked_file_type cant_broadcast_message cant_update_message
    channel_not_found edit_window_closed external_channel_migrating file_deleted file_is_deleted file_not_found
    file_share_limit_reached invalid_attachments invalid_blocks invalid_blocks_format invalid_metadata_format
    invalid_metadata_schema is_inactive markdown_text_conflict max_file_sharing_exceeded message_limit_exceeded
    message_not_found metadata_must_be_sent_from_app metadata_too_large msg_too_long
    no_dual_broadcast_content_update no_text posting_to_channel_denied slack_connect_blocked_file_type
    slack_connect_canvas_sharing_blocked slack_connect_clip_sharing_blocked slack_connect_file_link_sharing_blocked
    slack_connect_file_upload_sharing_blocked streaming_state_conflict team_not_found too_many_attachments
    unable_to_share_files update_failed`,
  "conversations.history": `
    channel_is_limited_access channel_not_found invalid_cursor invalid_metadata_filter_keys invalid_ts_latest
    invalid_ts_oldest not_in_channel`,
  "conversations.info": `
    channel_is_limited_access channel_not_found`,
  "conversations.list": `
    invalid_cursor invalid_limit invalid_types method_not_supported_for_channel_type missing_argument`,
  "conversations.members": `
    channel_not_found fetch_members_failed invalid_cursor invalid_limit method_not_supported_for_channel_type`,
  "conversations.open": `
    channel_not_found invalid_user_combination method_not_supported_for_channel_type not_enough_users too_many_users
    user_disabled user_not_found user_not_visible users_list_not_supplied`,
  "conversations.replies": `
    channel_not_found invalid_cursor invalid_metadata_filter_keys invalid_ts_latest invalid_ts_oldest
    list_record_comment_fetch_failed method_not_supported_for_channel_type thread_not_found`,
  "files.completeUploadExternal": `
    channel_not_found channels_limit_exceeded file_not_found file_type_not_allowed file_update_failed
    file_uploads_except_images_disabled invalid_blocks invalid_channel not_in_channel posting_to_channel_denied`,
  "files.getUploadURLExternal": `
    alt_txt_too_large file_type_not_allowed file_upload_size_restricted file_uploads_disabled
    file_uploads_except_images_disabled missing_argument snippet_too_large storage_limit_reached
    unknown_snippet_type unknown_subtype`,
  "files.info": `
    canvas_disabled_file_team canvas_disabled_user_team canvas_globally_disabled file_deleted file_not_found
    not_visible slack_connect_canvas_sharing_blocked template_not_visible`,
  "reactions.add": `
    already_reacted bad_timestamp channel_not_found external_channel_migrating invalid_name is_archived
    message_not_found no_access no_item_specified not_reactable thread_locked too_many_emoji too_many_reactions`,
  "reactions.remove": `
    bad_timestamp channel_not_found external_channel_migrating file_comment_not_found file_not_found invalid_name
    message_not_found no_access no_item_specified no_reaction thread_locked`,
  "search.messages": `
    no_query`,
  "usergroups.list": `
    invalid_cursor invalid_team missing_argument plan_upgrade_required users_not_found`,
  "users.conversations": `
    invalid_cursor invalid_limit invalid_types method_not_supported_for_channel_type missing_argument`,
  "users.info": `
    too_many_users user_not_found user_not_visible`,
  "views.open": `
    duplicate_external_id exchanged_trigger_id expired_trigger_id invalid_trigger_id view_too_large`,
  "views.publish": `
    duplicate_external_id hash_conflict missing_profile_id not_enabled not_implemented view_too_large`,
  "views.push": `
    duplicate_external_id exchanged_trigger_id expired_trigger_id invalid_trigger_id not_found push_limit_reached
    view_too_large`,
  "views.update": `
    duplicate_external_id hash_conflict not_found view_too_large`,
};

export type DocumentedMethod = keyof typeof own;

const words = (text: string) => text.split(/\s+/).filter(Boolean);

/** The method's own errors come first. */
export function errorsOf(method: DocumentedMethod): string[] {
  return [...words(own[method]), ...words(common)];
}
