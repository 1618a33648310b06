"""The other sessions of a browser: its open tabs, and those left behind that Streamlit keeps for a reconnect."""

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.ui.tab import Tab


def end_others(browser: str) -> None:
    """Open tabs are drawn anew, at once; what was left behind goes with all it holds: widgets, files, messages.

    Streamlit has no call for this: its session manager is asked directly, in its own thread.
    """
    here = get_script_run_ctx()
    if not runtime.exists() or here is None:  # a page under test
        return
    server, own = runtime.get_instance(), here.session_id

    def end() -> None:
        for info in server._session_mgr.list_sessions():
            tab = info.session.session_state.filtered_state.get("tab")
            if info.session.id == own or not isinstance(tab, Tab) or tab.browser != browser:
                continue
            if server.is_active_session(info.session.id):
                info.session.request_rerun(None)
            else:
                server.close_session(info.session.id)

    server._get_async_objs().eventloop.call_soon_threadsafe(end)
