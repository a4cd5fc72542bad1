(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @class
(impl_item type: (type_identifier) @name) @impl
(impl_item type: (generic_type type: (type_identifier) @name)) @impl
(mod_item name: (identifier) @name body: (_)) @class
(type_item name: (type_identifier) @name) @type
(source_file (const_item name: (identifier) @name) @value)
(source_file (static_item name: (identifier) @name) @value)
(macro_definition name: (identifier) @name) @function

; references

(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @member))
(scoped_identifier name: (identifier) @member)
(use_list (identifier) @reference)
(type_identifier) @reference
(macro_invocation macro: (identifier) @reference)
